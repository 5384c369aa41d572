// Values of a dimension, offered below a text field as it is typed in. `window.suggestions` is what the fields share;
// plain fields (data-suggest) stand within a form that says where suggestions come from (data-values-url) and has a
// field `dimension`.
window.suggestions = (() => {
  // Both by field: what one field asks never drops the question of, or the answer to, another.
  const timers = new WeakMap();
  const asked = new WeakMap();

  async function ask(input, { list, url, dimension }) {
    if (!dimension || !list) return;
    const mine = Symbol("question");
    asked.set(input, mine);
    const answer = await fetch(`${url}?${new URLSearchParams({ dimension, q: input.value })}`, {
      headers: { Accept: "application/json" },
    });
    if (!answer.ok || asked.get(input) !== mine) return;
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

  function soon(input, work) {
    clearTimeout(timers.get(input));
    timers.set(input, setTimeout(work, 200));
  }

  return { ask, soon };
})();

(() => {
  function suggest(input) {
    const form = input.closest("[data-values-url]");
    const dimension = form?.elements.dimension?.value;
    window.suggestions.ask(input, { list: input.list, url: form?.dataset.valuesUrl, dimension });
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-suggest]")) window.suggestions.soon(event.target, () => suggest(event.target));
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.matches("[data-suggest]")) suggest(event.target);
  });
})();
