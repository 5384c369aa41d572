import assert from "node:assert/strict";
import { test } from "node:test";

import {
  conditionOf,
  duplicateRule,
  emptyRule,
  groupOf,
  PathIndex,
  pathInGroup,
  renameMap,
  ruleTitle,
} from "../../static/js/lib/rules.js";

const AWS = { dimension: "provider", op: "in", values: ["AWS"] };
const EC2 = { dimension: "service", op: "in", values: ["EC2"] };

test("a group of each kind comes from the condition that it stands for", () => {
  assert.deepEqual(groupOf({ all: [AWS, EC2] }), { kind: "all", conditions: [AWS, EC2] });
  assert.deepEqual(groupOf({ any: [AWS, EC2] }), { kind: "any", conditions: [AWS, EC2] });
  assert.deepEqual(groupOf({ not: { any: [AWS, EC2] } }), { kind: "none", conditions: [AWS, EC2] });
  assert.deepEqual(groupOf({ not: { all: [AWS, EC2] } }), { kind: "not_all", conditions: [AWS, EC2] });
});

test("one condition is a group of its own, and so is its negation", () => {
  assert.deepEqual(groupOf(AWS), { kind: "all", conditions: [AWS] });
  assert.deepEqual(groupOf({ not: AWS }), { kind: "none", conditions: [AWS] });
});

test("a negation of a negation is a group in a group", () => {
  assert.deepEqual(groupOf({ not: { not: AWS } }), { kind: "none", conditions: [{ not: AWS }] });
});

test("what is read from a group is what it was filled with", () => {
  const conditions = [
    AWS,
    { not: AWS },
    { all: [AWS, EC2] },
    { any: [AWS] },
    { any: [] },
    { not: { any: [AWS, EC2] } },
    { not: { all: [AWS] } },
    { not: { not: { all: [AWS, EC2] } } },
    { all: [AWS, { any: [EC2, { not: AWS }] }] },
  ];
  for (const condition of conditions) {
    const { kind, conditions: parts } = groupOf(condition);
    assert.deepEqual(conditionOf(kind, parts), condition);
  }
});

test("a group of one condition is written without the group", () => {
  assert.deepEqual(conditionOf("all", [AWS]), AWS);
  assert.deepEqual(conditionOf("none", [AWS]), { not: AWS });
});

test("the path of a condition leads to it", () => {
  for (const kind of ["all", "any", "none", "not_all"]) {
    for (const conditions of [[AWS], [AWS, EC2]]) {
      const whole = conditionOf(kind, conditions);
      for (const [index, condition] of conditions.entries()) {
        const path = pathInGroup(kind, conditions.length, index);
        const target = path.reduce((node, key) => node[key], whole);
        assert.equal(target, condition, `${kind} ${index} of ${conditions.length}`);
      }
    }
  }
});

test("a rule is called by its name, else by what it does", () => {
  assert.equal(ruleTitle({ name: "Machines", value: "ec2" }), "Machines");
  assert.equal(ruleTitle({ value: "ec2" }), "ec2");
  assert.equal(ruleTitle({ copy: { keys: ["env", "Environment"] } }), "Copy of env, Environment");
  assert.equal(ruleTitle({ copy: { keys: [] } }), "Copy of a tag");
  assert.equal(ruleTitle(emptyRule()), "New rule");
});

test("a duplicate says so in its name and shares nothing with its original", () => {
  const rule = { name: "Machines", when: { any: [AWS] }, value: "ec2" };
  const copy = duplicateRule(rule);
  copy.when.any[0].values.push("Azure");
  assert.equal(copy.name, "Machines (copy)");
  assert.deepEqual(rule.when, { any: [{ dimension: "provider", op: "in", values: ["AWS"] }] });
  assert.equal("name" in duplicateRule({ value: "ec2" }), false);
});

test("empty rows rename nothing", () => {
  assert.deepEqual(
    renameMap([
      ["prod", "production"],
      ["", ""],
      ["dev", ""],
    ]),
    { prod: "production", dev: "" },
  );
  assert.equal(renameMap([["", ""]]), undefined);
  assert.equal(renameMap([]), undefined);
});

test("a message goes to the nearest element that is shown", () => {
  const index = new PathIndex();
  index.set(["rules", 0], "card");
  index.set(["rules", 0, "when"], "condition");
  index.set(["rules", 0, "when", "values"], "values");
  const path = ["rules", 0, "when", "values", 3];
  assert.equal(
    index.nearest(path, () => true),
    "values",
  );
  assert.equal(
    index.nearest(path, (element) => element !== "values"),
    "condition",
  );
  assert.equal(
    index.nearest(["rules", 1], () => true),
    null,
  );
  index.clear();
  assert.equal(
    index.nearest(path, () => true),
    null,
  );
});
