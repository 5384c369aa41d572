// The editor of a cost tag: rules as cards to write, nest and order. What the cards say is one JSON document in a hidden field.
(() => {
  const form = document.getElementById("cost-tag");
  const list = document.getElementById("rules");
  const review = document.getElementById("review");
  const preview = document.getElementById("preview");
  const rulesField = form.elements.rules;
  const OPEN_AT_FIRST = 2;
  const EDGE = 60;
  // A card that nobody has opened has no fields: hundreds of rules would be tens of thousands of them. Its rule stays as it came.
  const unopened = new WeakMap();
  // The element that writes each place of the document, by its path; filled whenever the cards are read.
  const places = new Map();
  let made = 0;
  let said = "";
  let saved = "";

  const cards = () => [...list.children];
  const find = (node, name) => node.querySelector(`[data-${name}]`);
  const cardOf = (node) => node.closest("[data-rule]");
  const announce = (text) => (document.getElementById("announcer").textContent = text);

  function madeFrom(name) {
    const node = document.getElementById(`${name}-template`).content.firstElementChild.cloneNode(true);
    made += 1;
    for (const part of [node, ...node.querySelectorAll("*")])
      for (const attribute of ["id", "for", "list", "name", "aria-controls", "aria-labelledby"])
        if (part.hasAttribute(attribute)) part.setAttribute(attribute, part.getAttribute(attribute).replace("NEW", made));
    return node;
  }

  // From the document to fields

  function chosen(select, value) {
    if (![...select.options].some((option) => option.value === value)) select.append(new Option(value, value));
    select.value = value;
  }

  function fillChips(input, values) {
    for (const value of values) {
      input.value = value;
      input.dispatchEvent(new Event("chip", { bubbles: true }));
    }
  }

  function testOf(test) {
    const node = madeFrom("test");
    if (test) {
      chosen(find(node, "filter-dimension"), test.dimension);
      chosen(find(node, "filter-op"), test.op || "in");
    }
    find(node, "filter-values").hidden = test?.op === "absent";
    return node;
  }

  // `not` of one condition is a group “none of”, with that condition alone in it, unless it is a group “all of” itself.
  function groupParts(condition) {
    if ("all" in condition) return ["all", condition.all];
    if ("any" in condition) return ["any", condition.any];
    if (!("not" in condition)) return ["all", [condition]];
    const inner = condition.not;
    if ("any" in inner) return ["none", inner.any];
    return "all" in inner ? ["not_all", inner.all] : ["none", [inner]];
  }

  // A group stands in the page before it is filled, so that its chips are made.
  function addGroup(parent, condition, isRoot) {
    const node = madeFrom("group");
    parent.append(node);
    const [kind, parts] = condition ? groupParts(condition) : ["all", []];
    find(node, "kind").value = kind;
    if (isRoot) find(node, "remove-group").remove();
    for (const part of parts) addCondition(node, part);
    return node;
  }

  function addCondition(group, condition) {
    const items = find(group, "items");
    if (condition && !("dimension" in condition)) return addGroup(items, condition, false);
    const node = testOf(condition);
    items.append(node);
    fillChips(find(node, "filter-input"), condition?.values || []);
    return node;
  }

  function addRename(body, before = "", after = "") {
    const row = madeFrom("rename");
    find(row, "before").value = before;
    find(row, "after").value = after;
    find(body, "renames").append(row);
    return row;
  }

  function fillCopy(body, copy) {
    fillChips(find(find(body, "copies"), "filter-input"), copy.keys || []);
    const steps = find(body, "normalise");
    const boxes = (copy.normalise || []).map((step) => steps.querySelector(`input[value="${CSS.escape(step)}"]`)).filter(Boolean);
    for (const box of boxes) box.checked = true;
    steps.prepend(...boxes.map((box) => box.closest("label")));
    for (const [before, after] of Object.entries(copy.map || {})) addRename(body, before, after);
    find(body, "renaming").open = Object.keys(copy.map || {}).length > 0;
  }

  function showAction(body) {
    const copies = find(body, "action").value === "copy";
    find(body, "set").hidden = copies;
    find(body, "copies").hidden = !copies;
  }

  function build(card) {
    const rule = unopened.get(card);
    if (!rule) return;
    unopened.delete(card);
    const body = find(card, "body");
    body.append(madeFrom("rule-body"));
    find(body, "name").value = rule.name || "";
    addGroup(find(body, "when"), rule.when, true);
    find(body, "action").value = rule.copy ? "copy" : "value";
    find(body, "value").value = rule.value || "";
    find(body, "from").value = rule.valid_from || "";
    find(body, "to").value = rule.valid_to || "";
    // One list of tag keys serves every rule.
    find(find(body, "copies"), "filter-input").setAttribute("list", "tag-keys");
    if (rule.copy) fillCopy(body, rule.copy);
    showAction(body);
  }

  function toggle(card, open) {
    if (open) build(card);
    find(card, "body").hidden = !open;
    find(card, "toggle").setAttribute("aria-expanded", String(open));
  }

  function addRule(rule, after) {
    const card = madeFrom("rule");
    unopened.set(card, rule);
    if (after) after.after(card);
    else list.append(card);
    return card;
  }

  // From fields to the document

  function texts(node) {
    return [...find(node, "filter-values").querySelectorAll(".chip input")].map((input) => input.value);
  }

  function place(path, node) {
    places.set(JSON.stringify(path), node);
  }

  function readTest(node, path) {
    const [dimension, op, input] = ["filter-dimension", "filter-op", "filter-input"].map((name) => find(node, name));
    place(path, dimension);
    place([...path, "op"], op);
    place([...path, "values"], input);
    const test = { dimension: dimension.value, op: op.value };
    return op.value === "absent" ? test : { ...test, values: texts(node) };
  }

  function readGroup(node, path) {
    const kind = find(node, "kind").value;
    const items = [...find(node, "items").children];
    place(path, find(node, "add-test"));
    if (kind === "all" && items.length === 1) return read(items[0], path);
    const each = (start) => items.map((item, index) => read(item, [...start, index]));
    if (kind === "all" || kind === "any") return { [kind]: each([...path, kind]) };
    if (kind === "none" && items.length === 1) return { not: read(items[0], [...path, "not"]) };
    const inner = kind === "none" ? "any" : "all";
    return { not: { [inner]: each([...path, "not", inner]) } };
  }

  const read = (node, path) => ("group" in node.dataset ? readGroup(node, path) : readTest(node, path));

  function readCopy(body, path) {
    const copy = { keys: texts(find(body, "copies")) };
    place([...path, "keys"], find(find(body, "copies"), "filter-input"));
    const steps = [...find(body, "normalise").querySelectorAll("input:checked")].map((box) => box.value);
    if (steps.length) copy.normalise = steps;
    const rows = [...find(body, "renames").children].map((row) => [find(row, "before"), find(row, "after")]);
    for (const [before, after] of rows) place([...path, "map", before.value.trim()], after);
    if (rows.length) place([...path, "map"], rows[0][0]);
    const pairs = rows.map(([before, after]) => [before.value, after.value]).filter(([before, after]) => before || after);
    if (pairs.length) copy.map = Object.fromEntries(pairs);
    return copy;
  }

  function readRule(card, path) {
    place(path, find(card, "toggle"));
    if (unopened.has(card)) return unopened.get(card);
    const body = find(card, "body");
    const rule = {};
    for (const [name, field] of [["name", "name"], ["valid_from", "from"], ["valid_to", "to"], ["value", "value"]]) {
      place([...path, name], find(body, field));
      if (find(body, field).value.trim()) rule[name] = find(body, field).value.trim();
    }
    const group = find(body, "when").firstElementChild;
    const when = readGroup(group, [...path, "when"]);
    if (find(group, "items").children.length) rule.when = when;
    if (find(body, "action").value === "copy") {
      delete rule.value;
      rule.copy = readCopy(body, [...path, "copy"]);
    } else {
      rule.value = rule.value || "";
    }
    return rule;
  }

  function titleOf(rule) {
    if (rule.name) return rule.name;
    return rule.copy ? `Copy of ${rule.copy.keys.join(", ") || "a tag"}` : rule.value || "New rule";
  }

  function readAll() {
    places.clear();
    const rules = cards().map((card, index) => {
      const rule = readRule(card, ["rules", index]);
      find(card, "number").textContent = index + 1;
      find(card, "title").textContent = titleOf(rule);
      for (const button of card.querySelectorAll("[data-label]")) button.setAttribute("aria-label", `${button.dataset.label} rule ${index + 1}, ${titleOf(rule)}`);
      return rule;
    });
    for (const name of ["key", "description", "default_value"]) place([name], form.elements[name]);
    rulesField.value = JSON.stringify(rules);
  }

  function state() {
    return JSON.stringify(["key", "description", "default_value", "rules"].map((name) => form.elements[name].value));
  }

  function changed() {
    readAll();
    if (state() === said) return;
    said = state();
    // What was reviewed is no longer what would be saved.
    review.replaceChildren();
    form.dispatchEvent(new Event("draft"));
  }

  // Order

  // The other card moves around this one: what has the focus, or the pointer, stays in the document.
  function step(card, direction) {
    const other = direction < 0 ? card.previousElementSibling : card.nextElementSibling;
    if (!other) return false;
    if (direction < 0) card.after(other);
    else card.before(other);
    return true;
  }

  function tellPlace(card) {
    changed();
    announce(`${find(card, "title").textContent} is rule ${cards().indexOf(card) + 1} of ${cards().length} now.`);
  }

  function move(card, direction) {
    if (step(card, direction)) tellPlace(card);
    else announce(`${find(card, "title").textContent} is the ${direction < 0 ? "first" : "last"} rule already.`);
    card.scrollIntoView({ block: "nearest" });
  }

  const middle = (node) => {
    const box = node.getBoundingClientRect();
    return box.top + box.height / 2;
  };

  function drag(grip, pointer) {
    const card = cardOf(grip);
    const begun = cards().indexOf(card);
    grip.setPointerCapture(pointer);
    card.classList.add("rule-dragged");

    function onMove({ clientY }) {
      while (card.nextElementSibling && clientY > middle(card.nextElementSibling)) step(card, 1);
      while (card.previousElementSibling && clientY < middle(card.previousElementSibling)) step(card, -1);
      if (clientY < EDGE) scrollBy(0, -EDGE / 4);
      if (clientY > innerHeight - EDGE) scrollBy(0, EDGE / 4);
    }

    function onEnd() {
      grip.removeEventListener("pointermove", onMove);
      card.classList.remove("rule-dragged");
      if (cards().indexOf(card) !== begun) tellPlace(card);
    }

    grip.addEventListener("pointermove", onMove);
    grip.addEventListener("lostpointercapture", onEnd, { once: true });
  }

  list.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest("[data-grip]");
    if (grip && event.button === 0) drag(grip, event.pointerId);
  });

  list.addEventListener("keydown", (event) => {
    const direction = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!direction || !event.target.matches("[data-grip]")) return;
    event.preventDefault();
    move(cardOf(event.target), direction);
  });

  // Buttons

  function removeRule(card) {
    const near = card.nextElementSibling || card.previousElementSibling;
    const title = find(card, "title").textContent;
    card.remove();
    changed();
    announce(`The rule ${title} is removed; ${cards().length} are left.`);
    (near ? find(near, "toggle") : document.getElementById("add-rule")).focus();
  }

  // A new rule begins with a condition to fill in; one that copies may do without.
  const begun = () => ({ when: { dimension: "service", op: "in", values: [] }, value: "" });

  function dropBegun(body) {
    const tests = [...find(body, "when").querySelectorAll("[data-test]")];
    if (tests.length === 1 && !texts(tests[0]).length && find(tests[0], "filter-op").value === "in") tests[0].remove();
  }

  function newRule(rule, after) {
    const card = addRule(rule, after);
    toggle(card, true);
    changed();
    find(card, "name").focus();
    announce(`Rule ${cards().indexOf(card) + 1} is added.`);
  }

  function duplicate(card) {
    const { name, ...rule } = structuredClone(readRule(card, []));
    newRule(name ? { ...rule, name: `${name} (copy)` } : rule, card);
  }

  // A removed condition hands the focus to what stands before it.
  function removeCondition(node) {
    const group = node.parentElement.closest("[data-group]");
    node.remove();
    find(group, "add-test").focus();
    changed();
  }

  const ACTIONS = {
    "add-rule": () => newRule(begun()),
    up: (button) => move(cardOf(button), -1),
    down: (button) => move(cardOf(button), 1),
    duplicate: (button) => duplicate(cardOf(button)),
    delete: (button) => removeRule(cardOf(button)),
    toggle: (button) => toggle(cardOf(button), button.getAttribute("aria-expanded") !== "true"),
    "add-test": (button) => find(addCondition(button.closest("[data-group]")), "filter-dimension").focus(),
    "add-group": (button) => {
      const group = addCondition(button.closest("[data-group]"), { any: [] });
      find(addCondition(group), "filter-dimension").focus();
    },
    "remove-test": (button) => removeCondition(button.closest("[data-test]")),
    "remove-group": (button) => removeCondition(button.closest("[data-group]")),
    "add-rename": (button) => find(addRename(button.closest("[data-body]")), "before").focus(),
    "remove-rename": (button) => {
      const body = button.closest("[data-body]");
      button.closest("[data-rename]").remove();
      find(body, "add-rename").focus();
      changed();
    },
  };

  form.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const [name, act] of Object.entries(ACTIONS)) if (button.hasAttribute(`data-${name}`)) return act(button);
  });
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-action]")) {
      const body = event.target.closest("[data-body]");
      if (event.target.value === "copy") dropBegun(body);
      showAction(body);
    }
    changed();
  });
  form.addEventListener("input", (event) => {
    if (!event.target.matches("[data-filter-input]")) changed();
  });

  // What the server says

  function showFigures() {
    const results = [...preview.querySelectorAll("[data-result]")];
    // While the rules are not complete a card keeps what it said in words, and no figures.
    const parts = results.length ? ["caught", "words"] : ["caught"];
    for (const [index, card] of cards().entries()) {
      for (const name of parts) {
        const told = results[index] && find(results[index], name);
        find(card, name).replaceChildren(...(told ? [...told.cloneNode(true).childNodes] : []));
      }
    }
  }

  function clearProblems() {
    for (const node of form.querySelectorAll("[data-problem-here]")) node.remove();
    for (const node of form.querySelectorAll("[aria-invalid]")) {
      for (const attribute of ["aria-invalid", "aria-describedby"]) node.removeAttribute(attribute);
      node.classList.remove("is-invalid");
    }
  }

  // The element nearest to the place: that of the field, else of what the field is in.
  function nearest(path) {
    for (let length = path.length; length > 0; length -= 1) {
      const node = places.get(JSON.stringify(path.slice(0, length)));
      if (node?.checkVisibility()) return node;
    }
    return null;
  }

  function showProblem() {
    clearProblems();
    const problem = find(review, "problem");
    if (!problem) return;
    const path = JSON.parse(problem.dataset.problem);
    if (path[0] === "rules" && cards()[path[1]]) toggle(cards()[path[1]], true);
    readAll();
    const node = nearest(path);
    if (!node) return problem.focus();
    const text = document.createElement("div");
    Object.assign(text, { className: "invalid-feedback d-block", id: "problem-here", textContent: problem.dataset.problemText || problem.textContent.trim() });
    text.dataset.problemHere = "";
    (node.closest("[data-filter], [data-rename]") || node).after(text);
    node.classList.add("is-invalid");
    node.setAttribute("aria-invalid", "true");
    node.setAttribute("aria-describedby", "problem-here");
    node.focus();
  }

  function showReview() {
    showProblem();
    const title = document.getElementById("review-title");
    if (!title) return;
    title.focus({ preventScroll: true });
    review.scrollIntoView({ block: "start" });
  }

  // Values that are looked at stay open while the figures change.
  let valuesOpen = false;
  preview.addEventListener("toggle", (event) => (valuesOpen = event.target.isConnected ? event.target.open : valuesOpen), true);

  document.addEventListener("htmx:afterSettle", (event) => {
    const values = preview.querySelector("details");
    if (event.target === preview && values) values.open = valuesOpen;
    if (event.target === preview) showFigures();
    if (event.target === review) showReview();
  });

  // Leaving with changes is asked about, unless it is saving that leaves.
  form.addEventListener("htmx:beforeOnLoad", (event) => {
    if (event.detail.xhr.getResponseHeader("HX-Redirect")) saved = said;
  });
  addEventListener("beforeunload", (event) => {
    if (said !== saved) event.preventDefault();
  });

  const first = JSON.parse(rulesField.value || "[]");
  for (const rule of first.length ? first : [begun()]) addRule(rule);
  if (cards().length <= OPEN_AT_FIRST) for (const card of cards()) toggle(card, true);
  readAll();
  said = saved = state();
  if (find(review, "problem")) showProblem();
})();
