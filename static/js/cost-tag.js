// The editor of a cost tag: rules as cards that can be edited, nested and ordered. The hidden field `rules` has them as
// one JSON document.
import { announce } from "./console.js";
import { addCondition, addRename, fillRule, removeEmptyTest, showAction } from "./cost-tag/fill.js";
import { copyTemplate, part } from "./cost-tag/parts.js";
import { readRule } from "./cost-tag/read.js";
import { duplicateRule, emptyRule, PathIndex, ruleTitle } from "./lib/rules.js";

const form = document.getElementById("cost-tag");
const list = document.getElementById("rules");
const review = document.getElementById("review");
const preview = document.getElementById("preview");
const TEXT_FIELDS = ["key", "description", "default_value"];
const OPEN_AT_FIRST = 2;
// The rules of cards that were not opened yet. These have no fields: hundreds of rules would need tens of thousands of
// fields.
const unopenedRules = new WeakMap();
const pathIndex = new PathIndex();
let currentState = "";
let savedState = "";

function cards() {
  return [...list.children];
}

function cardOf(node) {
  return node.closest("[data-rule]");
}

function titleOf(card) {
  return part(card, "title").textContent;
}

// Cards

function setOpen(card, isOpen) {
  const body = part(card, "body");
  const rule = unopenedRules.get(card);
  if (isOpen && rule) {
    unopenedRules.delete(card);
    fillRule(body, rule);
  }
  body.hidden = !isOpen;
  part(card, "toggle").setAttribute("aria-expanded", String(isOpen));
}

function addCard(rule, previous) {
  const card = copyTemplate("rule");
  unopenedRules.set(card, rule);
  if (previous) previous.after(card);
  else list.append(card);
  return card;
}

function readCard(card, path) {
  pathIndex.set(path, part(card, "toggle"));
  return unopenedRules.get(card) || readRule(part(card, "body"), path, pathIndex);
}

// State

function readAll() {
  pathIndex.clear();
  const rules = cards().map((card, position) => {
    const rule = readCard(card, ["rules", position]);
    part(card, "number").textContent = position + 1;
    part(card, "title").textContent = ruleTitle(rule);
    for (const button of card.querySelectorAll("[data-label]")) {
      button.setAttribute("aria-label", `${button.dataset.label} rule ${position + 1}, ${ruleTitle(rule)}`);
    }
    return rule;
  });
  for (const name of TEXT_FIELDS) pathIndex.set([name], form.elements[name]);
  form.elements.rules.value = JSON.stringify(rules);
}

function state() {
  return JSON.stringify([...TEXT_FIELDS, "rules"].map((name) => form.elements[name].value));
}

function update() {
  readAll();
  if (state() === currentState) return;
  currentState = state();
  // The reviewed preview no longer matches the rules to save.
  review.replaceChildren();
  form.dispatchEvent(new Event("draft"));
}

// Order: by dragging the grip, with its arrow keys, and with the buttons of the card

function announcePlace(card) {
  update();
  announce(`${titleOf(card)} is now rule ${cards().indexOf(card) + 1} of ${cards().length}.`);
}

// The other card moves around this one, because a card that moves itself would lose the focus.
function move(card, direction) {
  const other = direction < 0 ? card.previousElementSibling : card.nextElementSibling;
  if (!other) {
    announce(`${titleOf(card)} is already the ${direction < 0 ? "first" : "last"} rule.`);
    return;
  }
  if (direction < 0) card.after(other);
  else card.before(other);
  announcePlace(card);
  card.scrollIntoView({ block: "nearest" });
}

Sortable.create(list, {
  handle: "[data-grip]",
  // Pointer events on every system: native drag and drop does not start at a button in Firefox, nor by touch.
  forceFallback: true,
  // Outside the list, so that the copy under the pointer is not one of its rules.
  fallbackOnBody: true,
  animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150,
  onEnd: ({ item, oldIndex, newIndex }) => {
    part(item, "grip").focus({ preventScroll: true });
    if (oldIndex !== newIndex) announcePlace(item);
  },
});

list.addEventListener("keydown", (event) => {
  const direction = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!direction || !event.target.matches("[data-grip]")) return;
  event.preventDefault();
  move(cardOf(event.target), direction);
});

// Buttons

function removeCard(card) {
  const neighbour = card.nextElementSibling || card.previousElementSibling;
  const title = titleOf(card);
  card.remove();
  update();
  announce(`Rule ${title} removed, ${cards().length} left.`);
  (neighbour ? part(neighbour, "toggle") : document.getElementById("add-rule")).focus();
}

function addRule(rule, previous) {
  const card = addCard(rule, previous);
  setOpen(card, true);
  update();
  part(card, "name").focus();
  announce(`Rule ${cards().indexOf(card) + 1} added.`);
}

function addTest(group) {
  part(addCondition(group), "filter-dimension").focus();
}

// The focus moves to the element before the condition.
function removeCondition(node) {
  const group = node.parentElement.closest("[data-group]");
  node.remove();
  part(group, "add-test").focus();
  update();
}

function removeRename(button) {
  const body = button.closest("[data-body]");
  button.closest("[data-rename]").remove();
  part(body, "add-rename").focus();
  update();
}

const ACTIONS = {
  "add-rule": () => addRule(emptyRule()),
  up: (button) => move(cardOf(button), -1),
  down: (button) => move(cardOf(button), 1),
  duplicate: (button) => addRule(duplicateRule(readCard(cardOf(button), [])), cardOf(button)),
  delete: (button) => removeCard(cardOf(button)),
  toggle: (button) => setOpen(cardOf(button), button.getAttribute("aria-expanded") !== "true"),
  "add-test": (button) => addTest(button.closest("[data-group]")),
  "add-group": (button) => addTest(addCondition(button.closest("[data-group]"), { any: [] })),
  "remove-test": (button) => removeCondition(button.closest("[data-test]")),
  "remove-group": (button) => removeCondition(button.closest("[data-group]")),
  "add-rename": (button) => part(addRename(button.closest("[data-body]")), "before").focus(),
  "remove-rename": removeRename,
};

form.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const name = button && Object.keys(ACTIONS).find((each) => button.hasAttribute(`data-${each}`));
  if (name) ACTIONS[name](button);
});

form.addEventListener("change", ({ target }) => {
  if (target.matches("[data-action]")) {
    const body = target.closest("[data-body]");
    if (target.value === "copy") removeEmptyTest(body);
    showAction(body);
  }
  update();
});

form.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-filter-input]")) update();
});

// The figures of the preview on the cards

function showFigures() {
  const results = [...preview.querySelectorAll("[data-result]")];
  // Without results the rules are incomplete: a card keeps its text and shows no figures.
  const names = results.length ? ["caught", "words"] : ["caught"];
  for (const [position, card] of cards().entries()) {
    for (const name of names) {
      const source = results[position] && part(results[position], name);
      part(card, name).replaceChildren(...(source ? source.cloneNode(true).childNodes : []));
    }
  }
}

// The error from the server, at its field

function clearProblem() {
  for (const node of form.querySelectorAll("[data-problem-here]")) node.remove();
  for (const node of form.querySelectorAll("[aria-invalid]")) {
    for (const attribute of ["aria-invalid", "aria-describedby"]) node.removeAttribute(attribute);
    node.classList.remove("is-invalid");
  }
}

function showProblem() {
  clearProblem();
  const problem = part(review, "problem");
  if (!problem) return;
  const path = JSON.parse(problem.dataset.problem);
  if (path[0] === "rules" && cards()[path[1]]) setOpen(cards()[path[1]], true);
  readAll();
  const node = pathIndex.nearest(path, (element) => element.checkVisibility());
  if (!node) {
    problem.focus();
    return;
  }
  const message = document.createElement("div");
  message.className = "invalid-feedback d-block";
  message.id = "problem-here";
  message.textContent = problem.dataset.problemText || problem.textContent.trim();
  message.dataset.problemHere = "";
  (node.closest("[data-filter], [data-rename]") || node).after(message);
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

// Values that a person expanded stay expanded when the preview is replaced.
let areValuesOpen = false;
preview.addEventListener(
  "toggle",
  ({ target }) => {
    if (target.isConnected) areValuesOpen = target.open;
  },
  true,
);

document.addEventListener("htmx:afterSettle", ({ target }) => {
  if (target === preview) {
    const values = preview.querySelector("details");
    if (values) values.open = areValuesOpen;
    showFigures();
  }
  if (target === review) showReview();
});

// The browser asks before it leaves a page with unsaved changes. Saving leaves the page too.
form.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Redirect")) savedState = currentState;
});
addEventListener("beforeunload", (event) => {
  if (currentState !== savedState) event.preventDefault();
});

const rules = JSON.parse(form.elements.rules.value || "[]");
for (const rule of rules.length ? rules : [emptyRule()]) addCard(rule);
if (cards().length <= OPEN_AT_FIRST) for (const card of cards()) setOpen(card, true);
readAll();
currentState = state();
savedState = currentState;
if (part(review, "problem")) showProblem();
