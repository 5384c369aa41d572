import assert from "node:assert/strict";
import { test } from "node:test";

import { compareKeys, compareRows, nextOrder, sortKey } from "../../static/js/lib/sorting.js";

function sort(texts, order) {
  const rows = texts.map((text) => ({ text, key: sortKey(text), isRest: text.startsWith("Other") }));
  return rows.sort((a, b) => compareRows(a, b, order)).map(({ text }) => text);
}

test("numbers sort by value and texts without regard to case", () => {
  assert.deepEqual(sort(["10", "9", "-1.5"], "ascending"), ["-1.5", "9", "10"]);
  assert.deepEqual(sort(["beta", "Alpha", "gamma"], "descending"), ["gamma", "beta", "Alpha"]);
});

test("texts, an empty cell among them, come before numbers", () => {
  assert.deepEqual(sort(["2", "", "n/a", "1"], "ascending"), ["", "n/a", "1", "2"]);
});

test("the rest of a list stays last in either order", () => {
  assert.equal(sort(["a", "Other (3)", "z"], "ascending").at(-1), "Other (3)");
  assert.equal(sort(["a", "Other (3)", "z"], "descending").at(-1), "Other (3)");
});

test("equal keys keep their order", () => {
  assert.equal(compareKeys("a", "a"), 0);
  assert.equal(compareKeys(1, 1), 0);
});

test("a column of numbers starts with the largest, and a second click turns it around", () => {
  assert.equal(nextOrder(null, true), "descending");
  assert.equal(nextOrder("descending", true), "ascending");
  assert.equal(nextOrder(null, false), "ascending");
  assert.equal(nextOrder("ascending", false), "descending");
});
