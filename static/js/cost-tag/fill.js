// Writes a rule of the document into the fields in the body of its card.
import { groupOf } from "../lib/rules.js";
import { addChip } from "../values.js";
import { chipValues, copyTemplate, part } from "./parts.js";

function select(field, value) {
  if (![...field.options].some((option) => option.value === value)) field.append(new Option(value, value));
  field.value = value;
}

function fillChips(input, values) {
  for (const value of values) {
    input.value = value;
    addChip(input);
  }
}

function testFields(test) {
  const node = copyTemplate("test");
  if (!test) return node;
  select(part(node, "filter-dimension"), test.dimension);
  select(part(node, "filter-op"), test.op || "in");
  part(node, "filter-values").hidden = test.op === "absent";
  fillChips(part(node, "filter-input"), test.values || []);
  return node;
}

function groupFields(condition) {
  const node = copyTemplate("group");
  const { kind, conditions } = groupOf(condition);
  part(node, "kind").value = kind;
  for (const each of conditions) addCondition(node, each);
  return node;
}

/**
 * Adds a condition to a group: the fields of a test, or of a group. Without a condition it adds an empty test. Returns
 * its element.
 */
export function addCondition(group, condition) {
  const isTest = !condition || "dimension" in condition;
  const node = isTest ? testFields(condition) : groupFields(condition);
  part(group, "items").append(node);
  return node;
}

/** Adds a row that renames a value of a copied tag. Returns it. */
export function addRename(body, before = "", after = "") {
  const row = copyTemplate("rename");
  part(row, "before").value = before;
  part(row, "after").value = after;
  part(body, "renames").append(row);
  return row;
}

function fillCopy(body, copy) {
  fillChips(part(part(body, "copies"), "filter-input"), copy.keys || []);
  const steps = part(body, "normalise");
  const boxes = (copy.normalise || [])
    .map((step) => steps.querySelector(`input[value="${CSS.escape(step)}"]`))
    .filter((box) => box);
  for (const box of boxes) box.checked = true;
  // The steps are in the order of the document.
  steps.prepend(...boxes.map((box) => box.closest("label")));
  const renames = Object.entries(copy.map || {});
  for (const [before, after] of renames) addRename(body, before, after);
  part(body, "renaming").open = renames.length > 0;
}

/** Shows the fields of the rule's action: set a value, or copy a tag. */
export function showAction(body) {
  const isCopy = part(body, "action").value === "copy";
  part(body, "set").hidden = isCopy;
  part(body, "copies").hidden = !isCopy;
}

/** Builds the fields of the rule in the empty body of its card. */
export function fillRule(body, rule) {
  body.append(copyTemplate("rule-body"));
  part(body, "name").value = rule.name || "";
  const group = groupFields(rule.when || { all: [] });
  part(group, "remove-group").remove();
  part(body, "when").append(group);
  part(body, "action").value = rule.copy ? "copy" : "value";
  part(body, "value").value = rule.value || "";
  part(body, "from").value = rule.valid_from || "";
  part(body, "to").value = rule.valid_to || "";
  // One list of tag keys serves every rule.
  part(part(body, "copies"), "filter-input").setAttribute("list", "tag-keys");
  if (rule.copy) fillCopy(body, rule.copy);
  showAction(body);
}

/** Removes the initial empty condition of a new rule: a rule that copies a tag may have no condition. */
export function removeEmptyTest(body) {
  const tests = [...part(body, "when").querySelectorAll("[data-test]")];
  if (tests.length !== 1 || chipValues(tests[0]).length) return;
  if (part(tests[0], "filter-op").value === "in") tests[0].remove();
}
