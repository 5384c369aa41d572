// The order of a table's rows by the values of one column.

/** Returns a number, or a lower-case text; numbers as text ("12", "0.5") become numbers. */
export function sortKey(text) {
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text.toLowerCase();
}

/** Texts come before numbers. */
export function compareKeys(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? 1 : -1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Sorts `{key, isRest}`; `order` is `ascending` or `descending`. The row of other groups stays last in both orders. */
export function compareRows(a, b, order) {
  return a.isRest - b.isRest || (order === "ascending" ? 1 : -1) * compareKeys(a.key, b.key);
}

/**
 * Returns the order after a click on a column's header: numbers begin with the largest, the next click reverses it.
 */
export function nextOrder(current, isNumeric) {
  const [first, second] = isNumeric ? ["descending", "ascending"] : ["ascending", "descending"];
  return current === first ? second : first;
}
