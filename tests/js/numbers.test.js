import assert from "node:assert/strict";
import { test } from "node:test";

import { formatAxisValue, formatMegabytes, formatValue } from "../../static/js/lib/numbers.js";

test("an amount has two decimals", () => {
  assert.equal(formatValue(1234.5), "1,234.50");
  assert.equal(formatValue(-0.126), "-0.13");
  assert.equal(formatValue(0), "0.00");
});

test("an amount below a cent keeps three significant digits", () => {
  assert.equal(formatValue(0.0012345), "0.00123");
  assert.equal(formatValue(-0.00999), "-0.00999");
  assert.equal(formatValue(0.01), "0.01");
});

test("a quantity has at most as many decimals as it says", () => {
  assert.equal(formatValue(1234.5678, 2), "1,234.57");
  assert.equal(formatValue(12, 6), "12");
});

test("labels of an axis are short", () => {
  const labels = [0, 0.00012, 0.5, 12, 1234, 5_600_000, -2_500];
  assert.deepEqual(labels.map(formatAxisValue), ["0", "0.00012", "0.5", "12", "1.2K", "5.6M", "-2.5K"]);
});

test("a megabyte is a million bytes", () => {
  assert.equal(formatMegabytes(1_250_000), "1.3 MB");
  assert.equal(formatMegabytes(2_000_000_000), "2,000 MB");
});
