// Fields that take several values of a dimension: each a chip, with suggestions from the data. Within [data-filter], below an
// element that names where suggestions come from (data-values-url; suggest.js, which comes first, asks). What changed is told by the ordinary change event.
(() => {
  function addChip(input) {
    const value = input.value.trim();
    if (!value) return false;
    const chip = document.createElement("span");
    chip.className = "chip";
    const text = document.createElement("span");
    text.textContent = value;
    const hidden = document.createElement("input");
    Object.assign(hidden, { type: "hidden", name: input.name, value });
    const remove = document.createElement("button");
    Object.assign(remove, { type: "button", className: "btn-close" });
    remove.setAttribute("aria-label", `Remove ${value}`);
    remove.dataset.removeValue = "";
    chip.append(text, hidden, remove);
    input.before(chip);
    input.value = "";
    return true;
  }

  function suggest(input) {
    const filter = input.closest("[data-filter]");
    window.suggestions.ask(input, {
      list: filter.querySelector("datalist"),
      url: input.closest("[data-values-url]").dataset.valuesUrl,
      dimension: filter.querySelector("[data-filter-dimension]")?.value,
    });
  }

  function showValues(filter) {
    filter.querySelector("[data-filter-values]").hidden = filter.querySelector("[data-filter-op]")?.value === "absent";
  }

  const changed = (node) => node.dispatchEvent(new Event("change", { bubbles: true }));

  document.addEventListener("click", (event) => {
    const remove = event.target.closest("[data-remove-value]");
    if (!remove) return;
    const input = remove.closest("[data-filter]").querySelector("[data-filter-input]");
    remove.closest(".chip").remove();
    input.focus();
    changed(input);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("[data-filter-input]")) return;
    event.preventDefault();
    if (addChip(event.target)) changed(event.target);
  });

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-filter-input]")) return;
    window.suggestions.soon(event.target, () => suggest(event.target));
  });

  document.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-filter-input]") && !event.target.value) suggest(event.target);
  });

  // A script that fills a field in: the chip, and nothing else happens.
  document.addEventListener("chip", (event) => addChip(event.target));

  // Before anybody else hears of it: a new dimension has other values, and a picked value becomes a chip.
  document.addEventListener(
    "change",
    (event) => {
      const filter = event.target.closest?.("[data-filter]");
      if (!filter) return;
      if (event.target.matches("[data-filter-dimension]")) {
        for (const chip of filter.querySelectorAll(".chip")) chip.remove();
        suggest(filter.querySelector("[data-filter-input]"));
      }
      if (event.target.matches("[data-filter-op]")) showValues(filter);
      if (event.target.matches("[data-filter-input]")) addChip(event.target);
    },
    true,
  );

  function showAll() {
    for (const filter of document.querySelectorAll("[data-filter]")) showValues(filter);
  }
  document.addEventListener("DOMContentLoaded", showAll);
  showAll();
})();
