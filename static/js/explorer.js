// The form of a query page: custom dates, and lists of filters. Each list names the template of its filters
// (data-filters), and has its own letter for their names (lib/filters.js) and a button that adds a filter
// (data-add-filter is the list's id).
import { deleteIncompleteFilters, isFilterField, nameAtIndex } from "./lib/filters.js";
import "./values.js";

const form = document.getElementById("query");
const lists = [...form.querySelectorAll("[data-filters]")];

function isCustomRange() {
  // A query with custom dates has no period.
  return Boolean(form.elements.period?.selectedOptions[0].hasAttribute("data-custom"));
}

function showDates() {
  const isCustom = isCustomRange();
  for (const place of form.querySelectorAll(".custom-range")) {
    place.hidden = !isCustom;
    place.querySelector("input").disabled = !isCustom;
  }
}

// A custom range starts with the days of the page's result, so that both dates are always set.
function fillCustomRange() {
  const result = document.getElementById("answer");
  const { start_date: start, end_date: end } = form.elements;
  if (!isCustomRange() || !start || (start.value && end.value) || !result) return;
  start.value = result.dataset.start;
  end.value = result.dataset.end;
}

// Filters are numbered from 0 in the order of the page: the URL stays short, and no two filters share a name.
function renumber(list) {
  for (const [index, filter] of [...list.children].entries()) {
    for (const field of filter.querySelectorAll("[name]")) field.name = nameAtIndex(field.name, index);
    const suggestions = filter.querySelector("datalist");
    suggestions.id = `${filter.querySelector("[data-filter-dimension]").name}values`;
    filter.querySelector("[data-filter-input]").setAttribute("list", suggestions.id);
  }
}

function addFilter(list) {
  list.append(document.getElementById(list.dataset.filters).content.cloneNode(true));
  renumber(list);
  list.lastElementChild.querySelector("[data-filter-dimension]").focus();
}

function removeFilter(filter) {
  const list = filter.closest("[data-filters]");
  filter.remove();
  renumber(list);
  form.querySelector(`[data-add-filter="${list.id}"]`).focus();
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

form.addEventListener("click", ({ target }) => {
  const add = target.closest("[data-add-filter]");
  if (add) addFilter(document.getElementById(add.dataset.addFilter));
  const remove = target.closest("[data-remove-filter]");
  if (remove) removeFilter(remove.closest("[data-filter]"));
});

// In the capture phase, before htmx reads the form.
form.addEventListener(
  "change",
  () => {
    fillCustomRange();
    showDates();
  },
  true,
);

function deleteIncomplete(formData) {
  const names = [...form.querySelectorAll("[data-filters] [data-filter-dimension]")].map((field) => field.name);
  deleteIncompleteFilters(formData, names);
}

form.addEventListener("htmx:configRequest", ({ detail }) => deleteIncomplete(detail.parameters));

// Chips beside the form contain the query as it was when they were drawn. A change of a chip is sent with the current
// fields and updates them at once: neither is lost while the response to the other is pending.
function addForm({ target, detail }) {
  const row = target.closest("#question-filters");
  if (!row) return;
  const { pathname, searchParams } = new URL(detail.path, location.href);
  const filters = [...searchParams, ...detail.formData].filter(([name]) => isFilterField(name));
  const question = new FormData(form);
  deleteIncomplete(question);
  for (const name of [...detail.formData.keys()]) detail.formData.delete(name);
  for (const [name, value] of question) if (!isFilterField(name)) detail.formData.append(name, value);
  for (const field of row.querySelectorAll(":scope > input")) field.remove();
  for (const [name, value] of filters) {
    detail.formData.append(name, value);
    const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
    field.setAttribute("form", form.id);
    row.append(field);
  }
  detail.path = pathname;
}

document.addEventListener("htmx:configRequest", addForm);

// A filter without a value is not sent.
document.addEventListener(
  "submit",
  (event) => {
    if (!event.target.matches("#question-filters form")) return;
    const { name } = event.target.querySelector("[data-filter-dimension]");
    const fields = new FormData(event.target);
    deleteIncompleteFilters(fields, [name]);
    if (fields.has(name)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    event.target.querySelector("[data-filter-search]").focus();
  },
  true,
);

for (const list of lists) renumber(list);
showDates();
