// The option of a listbox that a key selects.

/**
 * Returns the index after `key` on option `index` (-1: none) of `count`, wrapping around; null for other keys.
 */
export function nextIndex(key, index, count) {
  if (!count) return null;
  if (key === "ArrowDown") return (index + 1) % count;
  if (key === "ArrowUp") return index <= 0 ? count - 1 : index - 1;
  if (key === "PageDown") return Math.min(index + 10, count - 1);
  if (key === "PageUp") return Math.max(index - 10, 0);
  return null;
}
