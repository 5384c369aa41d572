// The order of a table's rows by the values of one column.

/** A number, or a lower-case text; numbers as text ("12", "0.5") count as numbers. */
export function sortKey(text) {
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text.toLowerCase();
}

/** Texts come before numbers. */
export function compareKeys(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? 1 : -1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** `order` is `ascending` or `descending`. Of `{key, isRest}`; the rest of a list stays last in either order. */
export function compareRows(a, b, order) {
  return a.isRest - b.isRest || (order === "ascending" ? 1 : -1) * compareKeys(a.key, b.key);
}

/**
 * The order that a click on a column's header asks for: numbers start with the largest, the next click turns it around.
 */
export function nextOrder(current, isNumeric) {
  const [first, second] = isNumeric ? ["descending", "ascending"] : ["ascending", "descending"];
  return current === first ? second : first;
}
