// Fields for several values of a dimension: each value is a chip with a hidden input, with suggestions from the data.
// They are within [data-filter], below an element with the address of suggestions (data-values-url). A change event
// reports every change.
import { debounce, suggest } from "./suggest.js";

/** Turns the typed text into a chip; returns false for an empty field. Sends no event. */
export function addChip(input) {
  const value = input.value.trim();
  if (!value) return false;
  const text = document.createElement("span");
  text.textContent = value;
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name: input.name, value });
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "btn-close" });
  button.setAttribute("aria-label", `Remove ${value}`);
  button.dataset.removeValue = "";
  const chip = document.createElement("span");
  chip.className = "chip";
  chip.append(text, field, button);
  input.before(chip);
  input.value = "";
  return true;
}

function suggestValues(input) {
  const filter = input.closest("[data-filter]");
  suggest(input, {
    list: filter.querySelector("datalist"),
    url: input.closest("[data-values-url]").dataset.valuesUrl,
    dimension: filter.querySelector("[data-filter-dimension]")?.value,
  });
}

function showValues(filter) {
  filter.querySelector("[data-filter-values]").hidden = filter.querySelector("[data-filter-op]")?.value === "absent";
}

function dispatchChange(node) {
  node.dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove-value]");
  if (!button) return;
  const input = button.closest("[data-filter]").querySelector("[data-filter-input]");
  button.closest(".chip").remove();
  input.focus();
  dispatchChange(input);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches("[data-filter-input]")) return;
  event.preventDefault();
  if (addChip(event.target)) dispatchChange(event.target);
});

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-filter-input]")) debounce(target, () => suggestValues(target));
});

document.addEventListener("focusin", ({ target }) => {
  if (target.matches("[data-filter-input]") && !target.value) suggestValues(target);
});

// In the capture phase, before other listeners: a new dimension has other values, and a selected suggestion becomes a
// chip.
document.addEventListener(
  "change",
  ({ target }) => {
    const filter = target.closest?.("[data-filter]");
    if (!filter) return;
    if (target.matches("[data-filter-dimension]")) {
      for (const chip of filter.querySelectorAll(".chip")) chip.remove();
      suggestValues(filter.querySelector("[data-filter-input]"));
    }
    if (target.matches("[data-filter-op]")) showValues(filter);
    if (target.matches("[data-filter-input]")) addChip(target);
  },
  true,
);

for (const filter of document.querySelectorAll("[data-filter]")) showValues(filter);
