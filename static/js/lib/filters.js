// The field names of a query form's filters. The filter at index 2 of a list with the letter f has the fields f2 (its
// dimension), f2op and f2v (its values).

/** Returns the name of the same field at another index: `f0op` at 3 is `f3op`. Other names are returned unchanged. */
export function nameAtIndex(name, index) {
  return name.replace(/^([a-z])\d+/, (_match, letter) => `${letter}${index}`);
}

/** Returns whether a field belongs to a filter on cost: `f0`, `f0op` or `f0v`. */
export function isFilterField(name) {
  return /^f\d+(op|v)?$/.test(name);
}

/**
 * Deletes filters without a value from the FormData: they stay in the form and do not change the query. The operator
 * `absent` needs no value. `names` are those of the dimension fields.
 */
export function deleteIncompleteFilters(formData, names) {
  for (const name of names) {
    const isComplete = formData.get(`${name}op`) === "absent" || formData.getAll(`${name}v`).some((value) => value);
    if (isComplete) continue;
    for (const field of [name, `${name}op`, `${name}v`]) formData.delete(field);
  }
}
