import assert from "node:assert/strict";
import { test } from "node:test";

import { layoutOf, placeText, sameLayout, stepOfKey, stepPlace } from "../../static/js/lib/placement.js";

const PLACE = { x: 4, y: 2, w: 4, h: 3 };

test("a step moves or resizes by one", () => {
  assert.deepEqual(stepPlace(PLACE, "left"), { ...PLACE, x: 3 });
  assert.deepEqual(stepPlace(PLACE, "down"), { ...PLACE, y: 3 });
  assert.deepEqual(stepPlace(PLACE, "wider"), { ...PLACE, w: 5 });
  assert.deepEqual(stepPlace(PLACE, "shorter"), { ...PLACE, h: 2 });
});

test("a widget stays on the board", () => {
  assert.deepEqual(stepPlace({ ...PLACE, x: 0 }, "left"), { ...PLACE, x: 0 });
  assert.deepEqual(stepPlace({ ...PLACE, x: 8 }, "right"), { ...PLACE, x: 8 });
  assert.deepEqual(stepPlace({ ...PLACE, y: 0 }, "up"), { ...PLACE, y: 0 });
});

test("a widget at the right edge moves left to become wider", () => {
  assert.deepEqual(stepPlace({ ...PLACE, x: 8 }, "wider"), { ...PLACE, x: 7, w: 5 });
});

test("a size has its limits", () => {
  assert.equal(stepPlace({ ...PLACE, w: 1 }, "narrower").w, 1);
  assert.equal(stepPlace({ ...PLACE, x: 0, w: 12 }, "wider").w, 12);
  assert.equal(stepPlace({ ...PLACE, h: 1 }, "shorter").h, 1);
  assert.equal(stepPlace({ ...PLACE, h: 20 }, "taller").h, 20);
});

test("screen readers count columns and rows from 1", () => {
  assert.equal(placeText("Spend", PLACE), "Spend: column 5, row 3, 4 wide, 3 high.");
});

test("the layout has a size of 1 where Gridstack leaves it out", () => {
  const nodes = [{ el: { dataset: { widget: "7" } }, x: 0, y: 1, h: 2, _dirty: true }];
  assert.deepEqual(layoutOf(nodes), [{ id: 7, x: 0, y: 1, w: 1, h: 2 }]);
});

test("arrow keys move, and resize with Shift", () => {
  assert.equal(stepOfKey("ArrowLeft", false), "left");
  assert.equal(stepOfKey("ArrowDown", true), "taller");
  assert.equal(stepOfKey("Enter", false), undefined);
});

test("a layout is the same whatever the order of its widgets", () => {
  const [one, other] = [
    { el: { dataset: { widget: "7" } }, x: 0, y: 1 },
    { el: { dataset: { widget: "10" } }, x: 1, y: 1 },
  ];
  assert.ok(sameLayout(layoutOf([one, other]), layoutOf([other, one])));
  assert.ok(!sameLayout(layoutOf([one, other]), layoutOf([one, { ...other, x: 2 }])));
});
