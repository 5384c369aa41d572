// The form of a page of one question: custom dates, and filters, whose values are values.js's matter. Each list of filters
// (data-filters names its template) has names of a letter of its own, f0, f0op, f0v …, and a button (data-add-filter its id).
(() => {
  const form = document.getElementById("query");
  const lists = [...form.querySelectorAll("[data-filters]")];

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
  function renumber(list) {
    [...list.children].forEach((filter, index) => {
      for (const field of filter.querySelectorAll("[name]")) {
        field.name = field.name.replace(/^([a-z])\d+/, (_, letter) => `${letter}${index}`);
      }
      const suggestions = filter.querySelector("datalist");
      suggestions.id = `${filter.querySelector("[data-filter-dimension]").name}values`;
      filter.querySelector("[data-filter-input]").setAttribute("list", suggestions.id);
    });
  }

  function addFilter(list) {
    list.append(document.getElementById(list.dataset.filters).content.cloneNode(true));
    renumber(list);
    list.lastElementChild.querySelector("[data-filter-dimension]").focus();
  }

  form.addEventListener("click", (event) => {
    const add = event.target.closest("[data-add-filter]");
    if (add) addFilter(document.getElementById(add.dataset.addFilter));
    const remove = event.target.closest("[data-remove-filter]");
    if (remove) {
      const list = remove.closest("[data-filters]");
      remove.closest("[data-filter]").remove();
      renumber(list);
      form.querySelector(`[data-add-filter="${list.id}"]`).focus();
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
    for (const filter of lists.flatMap((list) => [...list.children])) {
      const name = filter.querySelector("[data-filter-dimension]").name;
      const finished = asked.get(`${name}op`) === "absent" || asked.getAll(`${name}v`).some((value) => value);
      if (finished) continue;
      for (const unfinished of [name, `${name}op`, `${name}v`]) asked.delete(unfinished);
    }
  });

  lists.forEach(renumber);
  showDates();
})();
