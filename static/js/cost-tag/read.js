// Reads a rule of the document from the fields in the body of its card, and records in a PathIndex which element edits
// which part.
import { conditionOf, pathInGroup, renameMap } from "../lib/rules.js";
import { chipValues, part } from "./parts.js";

function readTest(node, path, index) {
  const [dimension, op, input] = ["filter-dimension", "filter-op", "filter-input"].map((name) => part(node, name));
  index.set(path, dimension);
  index.set([...path, "op"], op);
  index.set([...path, "values"], input);
  const test = { dimension: dimension.value, op: op.value };
  return op.value === "absent" ? test : { ...test, values: chipValues(node) };
}

function readGroup(node, path, index) {
  const kind = part(node, "kind").value;
  const items = [...part(node, "items").children];
  index.set(path, part(node, "add-test"));
  const conditions = items.map((item, position) => {
    const read = "group" in item.dataset ? readGroup : readTest;
    return read(item, [...path, ...pathInGroup(kind, items.length, position)], index);
  });
  return conditionOf(kind, conditions);
}

function readCopy(body, path, index) {
  const copy = { keys: chipValues(part(body, "copies")) };
  index.set([...path, "keys"], part(part(body, "copies"), "filter-input"));
  const steps = [...part(body, "normalise").querySelectorAll("input:checked")].map((box) => box.value);
  if (steps.length) copy.normalise = steps;
  const rows = [...part(body, "renames").children].map((row) => [part(row, "before"), part(row, "after")]);
  for (const [before, after] of rows) index.set([...path, "map", before.value.trim()], after);
  if (rows.length) index.set([...path, "map"], rows[0][0]);
  const map = renameMap(rows.map(([before, after]) => [before.value, after.value]));
  if (map) copy.map = map;
  return copy;
}

/** Returns the rule in the fields of the body; `path` is its position in the document. */
export function readRule(body, path, index) {
  const rule = {};
  const fields = { name: "name", valid_from: "from", valid_to: "to", value: "value" };
  for (const [key, name] of Object.entries(fields)) {
    const field = part(body, name);
    index.set([...path, key], field);
    if (field.value.trim()) rule[key] = field.value.trim();
  }
  const group = part(body, "when").firstElementChild;
  const when = readGroup(group, [...path, "when"], index);
  if (part(group, "items").children.length) rule.when = when;
  if (part(body, "action").value === "copy") {
    delete rule.value;
    rule.copy = readCopy(body, [...path, "copy"], index);
  } else {
    rule.value ||= "";
  }
  return rule;
}
