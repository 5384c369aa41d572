import assert from "node:assert/strict";
import { test } from "node:test";

import { deleteIncompleteFilters, isFilterField, nameAtIndex } from "../../static/js/lib/filters.js";

test("a filter's fields keep their letter and their part at another index", () => {
  assert.deepEqual(
    ["f0", "f0op", "u12v"].map((name) => nameAtIndex(name, 3)),
    ["f3", "f3op", "u3v"],
  );
});

test("other fields keep their names", () => {
  assert.equal(nameAtIndex("period", 3), "period");
  assert.equal(nameAtIndex("", 3), "");
});

test("fields of filters on cost are told from those of usage and of the question", () => {
  const names = ["f0", "f12op", "f3v", "u0", "u0v", "f0values", "format", "from"];
  assert.deepEqual(names.filter(isFilterField), ["f0", "f12op", "f3v"]);
});

function formData(pairs) {
  const data = new FormData();
  for (const [name, value] of pairs) data.append(name, value);
  return data;
}

test("a filter without a value changes nothing", () => {
  const data = formData([
    ["period", "this_month"],
    ["f0", "service"],
    ["f0op", "in"],
    ["f0v", ""],
    ["f1", "region"],
    ["f1op", "not_in"],
    ["f1v", "eu-west-1"],
    ["f1v", ""],
  ]);
  deleteIncompleteFilters(data, ["f0", "f1"]);
  assert.deepEqual(
    [...data.entries()],
    [
      ["period", "this_month"],
      ["f1", "region"],
      ["f1op", "not_in"],
      ["f1v", "eu-west-1"],
      ["f1v", ""],
    ],
  );
});

test("the operator for values that are absent needs none", () => {
  const data = formData([
    ["f0", "team"],
    ["f0op", "absent"],
  ]);
  deleteIncompleteFilters(data, ["f0"]);
  assert.equal(data.get("f0"), "team");
});
