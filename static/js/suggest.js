// Suggests values of a dimension below a text field. A plain field (data-suggest) is in a form that has the address of
// suggestions (data-values-url) and a field `dimension`.

// By field, so that a request of one field never cancels that of another.
const timers = new WeakMap();
const latestRequests = new WeakMap();

/**
 * Fills the datalist `list` with the values of `dimension` that match the typed text; ignores a late response.
 */
export async function suggest(input, { list, url, dimension }) {
  if (!dimension || !list) return;
  const request = Symbol("request");
  latestRequests.set(input, request);
  const response = await fetch(`${url}?${new URLSearchParams({ dimension, q: input.value })}`, {
    headers: { Accept: "application/json" },
  });
  if (!response.ok || latestRequests.get(input) !== request) return;
  const { values } = await response.json();
  list.replaceChildren(
    ...values.map(({ value, hint }) => {
      const option = document.createElement("option");
      option.value = value;
      option.label = hint ? `${value} · ${hint}` : value;
      return option;
    }),
  );
}

/** Calls `work` 200 ms after the last key in the field. */
export function debounce(input, work) {
  clearTimeout(timers.get(input));
  timers.set(input, setTimeout(work, 200));
}

function suggestInForm(input) {
  const form = input.closest("[data-values-url]");
  const dimension = form?.elements.dimension?.value;
  suggest(input, { list: input.list, url: form?.dataset.valuesUrl, dimension });
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-suggest]")) debounce(target, () => suggestInForm(target));
});
document.addEventListener("focusin", ({ target }) => {
  if (target.matches("[data-suggest]")) suggestInForm(target);
});
