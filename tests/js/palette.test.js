import assert from "node:assert/strict";
import { test } from "node:test";

import { ColorAssignment, chartTheme } from "../../static/js/lib/palette.js";

function names(...list) {
  return list.map((name) => ({ name }));
}

test("a name has the same colour in all charts of a page", () => {
  const colors = new ColorAssignment();
  const first = colors.assign(names("AWS", "Azure", "Google"));
  const second = colors.assign(names("Google", "Oracle", "AWS"));
  assert.equal(second.get("AWS"), first.get("AWS"));
  assert.equal(second.get("Google"), first.get("Google"));
  assert.ok(![...first.values()].includes(second.get("Oracle")));
});

test("the series of a chart have different colours while the palette lasts", () => {
  const colors = new ColorAssignment();
  const size = chartTheme(false, "").colors.length;
  colors.assign(names(...Array.from({ length: size }, (_, index) => `a${index}`)));
  const more = colors.assign(names(...Array.from({ length: size }, (_, index) => `b${index}`)));
  assert.equal(new Set(more.values()).size, size);
});

test("more series than colours start again at the first", () => {
  const count = chartTheme(false, "").colors.length + 2;
  const assigned = new ColorAssignment().assign(names(...Array.from({ length: count }, (_, index) => `a${index}`)));
  assert.equal(assigned.get(`a${count - 2}`), 0);
  assert.equal(assigned.get(`a${count - 1}`), 1);
});

test("a series alone has the first colour, and takes none from others", () => {
  const colors = new ColorAssignment();
  assert.equal(colors.assign([{ name: "Cost" }, { name: "Limit", tone: "limit" }]).get("Cost"), 0);
  assert.equal(colors.assign(names("AWS", "Azure")).get("AWS"), 0);
});

test("the rest and series with a tone take no colour of the palette", () => {
  const series = [...names("AWS", "Azure"), { name: "Other (4)", rest: true }, { name: "Limit", tone: "limit" }];
  assert.deepEqual([...new ColorAssignment().assign(series).keys()], ["AWS", "Azure"]);
});

test("a page whose charts are all new starts with the first colour again", () => {
  const colors = new ColorAssignment();
  colors.assign(names("AWS", "Azure"));
  colors.clear();
  assert.equal(colors.assign(names("Google", "Oracle")).get("Google"), 0);
});

test("the dark theme has other colours under the same names", () => {
  const [light, dark] = [chartTheme(false, "Inter"), chartTheme(true, "Inter")];
  assert.deepEqual(Object.keys(light), Object.keys(dark));
  assert.equal(light.colors.length, dark.colors.length);
  assert.notEqual(light.text, dark.text);
});
