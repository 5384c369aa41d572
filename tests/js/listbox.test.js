import assert from "node:assert/strict";
import { test } from "node:test";
import { nextIndex } from "../../static/js/lib/listbox.js";

test("arrows go around the ends", () => {
  assert.equal(nextIndex("ArrowDown", 2, 3), 0);
  assert.equal(nextIndex("ArrowUp", 0, 3), 2);
  assert.equal(nextIndex("ArrowDown", -1, 3), 0);
  assert.equal(nextIndex("ArrowUp", -1, 3), 2);
});

test("page keys stop at the ends", () => {
  assert.equal(nextIndex("PageDown", 1, 5), 4);
  assert.equal(nextIndex("PageUp", 3, 5), 0);
});

test("other keys and an empty list lead nowhere", () => {
  assert.equal(nextIndex("a", 0, 3), null);
  assert.equal(nextIndex("ArrowDown", -1, 0), null);
});
