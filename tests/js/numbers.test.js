import assert from "node:assert/strict";
import { test } from "node:test";

import { formatAxisValue, formatMegabytes, formatMoney, formatNumber } from "../../static/js/lib/numbers.js";

// That server and browser write alike in every locale is in tests/finops/lib/test_formats.py.

const DOLLARS = { prefix: "$", suffix: "", digits: 2 };

test("an amount has the decimals of its currency", () => {
  assert.equal(formatMoney(1234.5, DOLLARS), "$1,234.50");
  assert.equal(formatMoney(-0.126, DOLLARS), "−$0.13");
  assert.equal(formatMoney(0, DOLLARS), "$0.00");
  assert.equal(formatMoney(1234.5, { prefix: "¥", suffix: "", digits: 0 }), "¥1,235");
});

test("an amount below a cent keeps three significant digits", () => {
  assert.equal(formatMoney(0.0012345, DOLLARS), "$0.00123");
  assert.equal(formatMoney(-0.00999, DOLLARS), "−$0.00999");
  assert.equal(formatMoney(0.01, DOLLARS), "$0.01");
});

test("a quantity has at most as many decimals as it says", () => {
  assert.equal(formatNumber(1234.5678, 2), "1,234.57");
  assert.equal(formatNumber(12, 6), "12");
});

test("labels of an axis are short and have the symbol of the currency", () => {
  const labels = [0, 0.00012, 0.5, 12, 1234, 5_600_000, -2_500];
  assert.deepEqual(
    labels.map((value) => formatAxisValue(value)),
    ["0", "0.00012", "0.5", "12", "1.2K", "5.6M", "−2.5K"],
  );
  assert.equal(formatAxisValue(-2_500, DOLLARS), "−$2.5K");
});

test("a megabyte is a million bytes", () => {
  assert.equal(formatMegabytes(1_250_000), "1.3 MB");
  assert.equal(formatMegabytes(2_000_000_000), "2,000 MB");
});
