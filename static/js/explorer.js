// The form of a page of one question: custom dates, and filters, whose values are values.js's matter.
(() => {
  const form = document.getElementById("query");
  const filters = document.getElementById("filters");
  const template = document.getElementById("filter-template");

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
    if (!isCustom() || !from || (from.value && to.value) || !answer) return;
    from.value = answer.dataset.start;
    to.value = answer.dataset.end;
  }

  // Names count from 0 in the order shown, so that the URL stays short and two filters never share one.
  function renumber() {
    [...filters.children].forEach((filter, index) => {
      for (const field of filter.querySelectorAll("[name]")) field.name = field.name.replace(/^f\d+/, `f${index}`);
      filter.querySelector("datalist").id = `f${index}values`;
      filter.querySelector("[data-filter-input]").setAttribute("list", `f${index}values`);
    });
  }

  function addFilter() {
    filters.append(template.content.cloneNode(true));
    renumber();
    filters.lastElementChild.querySelector("[data-filter-dimension]").focus();
  }

  form.addEventListener("click", (event) => {
    if (event.target.closest("[data-add-filter]")) addFilter();
    const filter = event.target.closest("[data-remove-filter]");
    if (filter) {
      filter.closest("[data-filter]").remove();
      renumber();
      form.querySelector("[data-add-filter]").focus();
      changed();
    }
  });

  // Before htmx sees it: a custom range is whole from the start.
  form.addEventListener(
    "change",
    () => {
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
