// Plain text fields that are offered the values of a dimension. Within a form that says where suggestions come from
// (data-values-url) and has a field `dimension`.
(() => {
  let typing;
  let waiting = 0;

  async function suggest(input) {
    const form = input.closest("[data-values-url]");
    const dimension = form?.elements.dimension?.value;
    const list = input.list;
    if (!dimension || !list) return;
    const mine = ++waiting;
    const answer = await fetch(`${form.dataset.valuesUrl}?${new URLSearchParams({ dimension, q: input.value })}`, {
      headers: { Accept: "application/json" },
    });
    if (!answer.ok || mine !== waiting) return;
    const { values } = await answer.json();
    list.replaceChildren(
      ...values.map(({ value, hint }) => {
        const option = document.createElement("option");
        option.value = value;
        option.label = hint ? `${value} · ${hint}` : value;
        return option;
      }),
    );
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-suggest]")) return;
    clearTimeout(typing);
    typing = setTimeout(() => suggest(event.target), 200);
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-suggest]")) suggest(event.target);
  });
})();
