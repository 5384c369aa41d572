// The form of one filter (data-filter-form): its text field searches the values of the dimension, which are selected in
// a list. With an operator on parts of a text, the typed text is the value. The form also works without this script.
import { debounce } from "./suggest.js";

const EXACT = ["in", "not_in"];
const latestRequests = new WeakMap();

function parts(form) {
  return {
    dimension: form.querySelector("[data-filter-dimension]"),
    op: form.querySelector("[data-filter-op]"),
    values: form.querySelector("[data-filter-values]"),
    search: form.querySelector("[data-filter-search]"),
    options: form.querySelector("[data-filter-options]"),
  };
}

/** Adds a value; `hint` is shown beside the value or, if there is one, beside the `label`. */
function option(name, { value, label, hint }, isChecked) {
  const box = document.createElement("input");
  Object.assign(box, { type: "checkbox", className: "form-check-input", name, value, checked: isChecked });
  const text = document.createElement("span");
  text.className = "form-check-label";
  text.append(label || value);
  if (hint) {
    const small = document.createElement("small");
    small.className = "text-secondary";
    small.append(hint);
    text.append(" ", small);
  }
  const row = document.createElement("label");
  row.className = "form-check";
  if (label) row.title = value;
  row.append(box, text);
  return row;
}

function checkedOptions(options) {
  return [...options.children].filter((label) => label.querySelector(":checked"));
}

function listed(options) {
  return [...options.querySelectorAll("input")].map((box) => box.value.toLowerCase());
}

/** Lists the matches of the search below the selected values; ignores a late response. */
async function listValues(form) {
  const { dimension, op, search, options } = parts(form);
  if (!EXACT.includes(op.value)) return;
  const request = Symbol("request");
  latestRequests.set(form, request);
  const url = form.closest("[data-values-url]").dataset.valuesUrl;
  const query = new URLSearchParams({ dimension: dimension.value, q: search.value.trim() });
  const response = await fetch(`${url}?${query}`, { headers: { Accept: "application/json" } });
  if (!response.ok || latestRequests.get(form) !== request) return;
  const { values } = await response.json();
  options.replaceChildren(...checkedOptions(options));
  const ticked = listed(options);
  for (const each of values) {
    const hint = each.label ? `${each.value} · ${each.amounts}` : each.amounts;
    if (!ticked.includes(each.value.toLowerCase())) options.append(option(search.name, { ...each, hint }, false));
  }
}

/** Returns the value and its label in lower case. */
function textsOf(box) {
  const label = box.closest("label").querySelector(".form-check-label").firstChild.textContent;
  return [box.value, label].map((text) => text.toLowerCase());
}

/** Selects the typed value: all values of that name (two accounts may share one), the only match, or the text. */
function tickTyped(form) {
  const { search, options } = parts(form);
  const text = search.value.trim();
  if (!text) return false;
  const boxes = [...options.querySelectorAll("input")];
  const sought = text.toLowerCase();
  const open = boxes.filter((box) => !box.checked && textsOf(box).some((each) => each.includes(sought)));
  const same = boxes.filter((box) => textsOf(box).includes(sought));
  const matches = same.length || open.length !== 1 ? same : open;
  for (const box of matches) box.checked = true;
  if (!matches.length) options.prepend(option(search.name, { value: text }, true));
  search.value = "";
  return true;
}

function showFields(form) {
  const { op, values, options, search } = parts(form);
  const isExact = EXACT.includes(op.value);
  values.hidden = op.value === "absent";
  search.placeholder = isExact ? "Search values" : "Text";
  for (const label of options.children) {
    if (!isExact && !label.querySelector("input").checked) label.remove();
  }
}

document.addEventListener(
  "toggle",
  ({ target }) => {
    const form = target.open && target.querySelector?.(":scope > [data-filter-form]");
    if (!form) return;
    const { dimension, search } = parts(form);
    showFields(form);
    (target.closest(".filter-chip") ? search : dimension).focus();
    listValues(form);
  },
  true,
);

document.addEventListener("change", ({ target }) => {
  const form = target.closest?.("[data-filter-form]");
  if (!form) return;
  if (target.matches("[data-filter-dimension]")) parts(form).options.replaceChildren();
  if (target.matches("[data-filter-dimension], [data-filter-op]")) {
    showFields(form);
    listValues(form);
  }
});

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-filter-search]")) debounce(target, () => listValues(target.closest("form")));
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches("[data-filter-search]")) return;
  const form = event.target.closest("form");
  const hasTicked = tickTyped(form);
  event.preventDefault();
  // Enter in the empty field applies the filter if a value is selected.
  if (!hasTicked) form.requestSubmit();
});

// The search text is not a value once another value is selected.
document.addEventListener(
  "submit",
  ({ target: form }) => {
    if (!form.matches?.("[data-filter-form]")) return;
    const { op, search, options } = parts(form);
    if (EXACT.includes(op.value)) {
      if (checkedOptions(options).length) search.value = "";
      else tickTyped(form);
    }
    if (op.value === "absent") {
      search.value = "";
      options.replaceChildren();
    }
  },
  true,
);
