// The form of the cost explorer and of the Usage page: custom dates, and filters whose values are chips with suggestions from the data.
(() => {
  const form = document.getElementById("query");
  const filters = document.getElementById("filters");
  const template = document.getElementById("filter-template");
  let waiting = 0;

  function changed() {
    form.dispatchEvent(new Event("change", { bubbles: true }));
  }

  const isCustom = () => form.elements.period.selectedOptions[0].hasAttribute("data-custom");

  function showDates() {
    const custom = isCustom();
    for (const place of form.querySelectorAll(".custom-range")) {
      place.hidden = !custom;
      place.querySelector("input").disabled = !custom;
    }
  }

  // A custom range begins as the days on the page, so that it is whole from the start.
  function beginCustomRange() {
    const answer = document.getElementById("answer");
    const { start_date: from, end_date: to } = form.elements;
    if (!isCustom() || (from.value && to.value) || !answer) return;
    from.value = answer.dataset.start;
    to.value = answer.dataset.end;
  }

  // Names count from 0 in the order shown, so that the URL stays short and two filters never share one.
  function renumber() {
    [...filters.children].forEach((filter, index) => {
      for (const field of filter.querySelectorAll("[name]")) field.name = field.name.replace(/^f\d+/, `f${index}`);
      filter.querySelector("datalist").id = `f${index}values`;
      filter.querySelector("[data-filter-input]").setAttribute("list", `f${index}values`);
      showValues(filter);
    });
  }

  function showValues(filter) {
    filter.querySelector("[data-filter-values]").hidden = filter.querySelector("[data-filter-op]").value === "absent";
  }

  function addFilter() {
    filters.append(template.content.cloneNode(true));
    renumber();
    const added = filters.lastElementChild;
    added.querySelector("[data-filter-dimension]").focus();
    suggest(added.querySelector("[data-filter-input]"));
  }

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

  async function suggest(input) {
    const filter = input.closest("[data-filter]");
    const dimension = filter.querySelector("[data-filter-dimension]").value;
    const mine = ++waiting;
    const url = `${form.dataset.valuesUrl}?${new URLSearchParams({ dimension, q: input.value })}`;
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (!answer.ok || mine !== waiting) return;
    const { values } = await answer.json();
    const list = filter.querySelector("datalist");
    list.replaceChildren(
      ...values.map(({ value, hint }) => {
        const option = document.createElement("option");
        option.value = value;
        option.label = hint ? `${value} · ${hint}` : value;
        return option;
      }),
    );
  }

  form.addEventListener("click", (event) => {
    if (event.target.closest("[data-add-filter]")) addFilter();
    const value = event.target.closest("[data-remove-value]");
    const filter = event.target.closest("[data-remove-filter]");
    if (value) {
      const input = value.closest("[data-filter]").querySelector("[data-filter-input]");
      value.closest(".chip").remove();
      input.focus();
      changed();
    }
    if (filter) {
      filter.closest("[data-filter]").remove();
      renumber();
      form.querySelector("[data-add-filter]").focus();
      changed();
    }
  });

  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("[data-filter-input]")) return;
    event.preventDefault();
    if (addChip(event.target)) changed();
  });

  let typing;
  form.addEventListener("input", (event) => {
    if (!event.target.matches("[data-filter-input]")) return;
    clearTimeout(typing);
    typing = setTimeout(() => suggest(event.target), 200);
  });
  form.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-filter-input]") && !event.target.value) suggest(event.target);
  });

  // Before htmx sees it: a new dimension has other values, and a picked value becomes a chip.
  form.addEventListener(
    "change",
    (event) => {
      const filter = event.target.closest?.("[data-filter]");
      if (event.target.matches?.("[data-filter-dimension]")) {
        for (const chip of filter.querySelectorAll(".chip")) chip.remove();
        suggest(filter.querySelector("[data-filter-input]"));
      }
      if (event.target.matches?.("[data-filter-op]")) showValues(filter);
      if (event.target.matches?.("[data-filter-input]")) addChip(event.target);
      beginCustomRange();
      showDates();
    },
    true,
  );

  // A filter that has no value yet, or none any more, is unfinished: it stays in the form and asks nothing.
  form.addEventListener("htmx:configRequest", (event) => {
    const asked = event.detail.parameters;
    for (const filter of filters.children) {
      const name = filter.querySelector("[data-filter-dimension]").name;
      const finished = asked.get(`${name}op`) === "absent" || asked.getAll(`${name}v`).some((value) => value);
      if (finished) continue;
      for (const unfinished of [name, `${name}op`, `${name}v`]) asked.delete(unfinished);
    }
  });

  renumber();
  showDates();
})();
