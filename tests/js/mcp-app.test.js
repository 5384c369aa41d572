import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ticksOf } from "../../mcp_app/chart.js";
import { daysOf, figuresOf, toolOf } from "../../mcp_app/figures.js";
import { barMoney, percent, setLocale } from "../../mcp_app/formats.js";
import { canDrill, drillDown, groupingOf, periodOf, withGrouping, withPeriod } from "../../mcp_app/questions.js";

setLocale("en-US");

const SPEND = {
  group_by: ["service"],
  granularity: "day",
  data_through: "2026-03-01",
  period: { start_date: "2026-03-01", end_date: "2026-03-02" },
  totals: [
    { amount: 30, currency: "USD", change: { ratio: 0.5 } },
    { amount: 5, currency: "EUR" },
  ],
  rows: [
    { group: { service: "EC2" }, amount: 20, currency: "USD", share: 0.67, series: series("USD", [12, 8]) },
    {
      group: { service: "other" },
      amount: 10,
      currency: "USD",
      share: 0.33,
      other_groups: 4,
      series: series("USD", [7, 3]),
    },
    {
      group: { service: "VM" },
      labels: { service: "Machine" },
      amount: 5,
      currency: "EUR",
      series: series("EUR", [5, null]),
    },
  ],
};

function series(currency, [first, second]) {
  return { currency, amounts: { "2026-03-01": first, "2026-03-02": second } };
}

test("each currency has a figure of its own with its rows alone", () => {
  const [dollars, euros] = figuresOf("querySpend", SPEND);
  assert.deepEqual([dollars.value, dollars.note, euros.value], ["$30.00", "+50% vs. previous period", "€5.00"]);
  assert.deepEqual(
    dollars.rows.map((row) => row.cells[0]),
    ["$20.00", "$10.00"],
  );
  assert.deepEqual(
    euros.rows.map((row) => row.name),
    ["Machine"],
  );
  assert.equal(daysOf(SPEND).replace(/\s/gu, " "), "Mar 1 – 2, 2026");
});

test("a row that sums what is not listed leads nowhere", () => {
  const [{ rows }] = figuresOf("querySpend", SPEND);
  assert.deepEqual(
    rows.map((row) => row.filter),
    [{ dimension: "service", value: "EC2" }, undefined],
  );
});

test("days after the last complete one are marked", () => {
  const [{ chart }] = figuresOf("querySpend", SPEND);
  assert.deepEqual([chart.kind, chart.incompleteFrom, chart.labels], ["stack", 1, ["Mar 1", "Mar 2"]]);
});

test("rows beyond six are one, and their sum is exact", () => {
  const rows = Array.from({ length: 9 }, (_, index) => ({
    group: { service: `s${index}` },
    amount: 0.2,
    currency: "USD",
    series: series("USD", [0.1, 0.2]),
  }));
  const [{ chart }] = figuresOf("querySpend", { ...SPEND, totals: [SPEND.totals[0]], rows });
  assert.deepEqual(chart.series.at(-1), { name: "Other", rest: true, values: [0.3, 0.6] });
});

test("a drill-down narrows by the row and goes one dimension deeper", () => {
  const args = { period: "last_month", group_by: ["service"], filters: [{ dimension: "provider", values: ["AWS"] }] };
  assert.deepEqual(drillDown(args, { dimension: "service", value: "EC2" }), {
    period: "last_month",
    group_by: ["account"],
    filters: [
      { dimension: "provider", values: ["AWS"] },
      { dimension: "service", op: "in", values: ["EC2"] },
    ],
  });
});

test("other days take the place of those that were asked for", () => {
  const args = { start_date: "2026-01-01", end_date: "2026-01-31", group_by: ["region"], top: 5 };
  assert.deepEqual(withPeriod(args, "last_month"), { group_by: ["region"], top: 5, period: "last_month" });
  assert.deepEqual(withGrouping(args, ""), { start_date: "2026-01-01", end_date: "2026-01-31", top: 5 });
});

test("grouping and days are those of the answer, which the server chooses where the arguments have none", () => {
  const answer = { group_by: ["service"], period: { name: "last_30_days" } };
  assert.deepEqual([groupingOf({}, answer), periodOf({}, answer)], ["service", "last_30_days"]);
  assert.deepEqual([groupingOf({}, { group_by: [] }), periodOf({}, { period: { name: null } })], ["", ""]);
  assert.deepEqual(
    [periodOf({ period: "last_month" }, { days: {} }), periodOf({ period: "this_year" }, {})],
    ["last_month", ""],
  );
  assert.equal(canDrill("querySpend", {}, { group_by: ["resource"] }), false);
});

test("the amount of a bar has its cents below a thousand", () => {
  assert.deepEqual(
    [154.464, -0.5, 0, 196_100].map((value) => barMoney(value, "USD")),
    ["$154.46", "-$0.50", "$0.00", "$196.1K"],
  );
});

test("an axis has round steps that hold every value", () => {
  assert.deepEqual(ticksOf(0, 87), [0, 25, 50, 75, 100]);
  assert.deepEqual(ticksOf(-30, 12), [-40, -20, 0, 20]);
  assert.deepEqual(ticksOf(0, 0), [0, 0.25, 0.5, 0.75, 1]);
});

test("a currency that is none of ISO 4217 stands behind its amount", () => {
  const [figure] = figuresOf("querySpend", { ...SPEND, totals: [{ amount: 7, currency: "CREDITS" }], rows: [] });
  assert.equal(figure.value, "7 CREDITS");
});

test("the tool of each recorded answer is known from the answer alone", () => {
  for (const tool of [
    "querySpend",
    "explainSpendChange",
    "forecastSpend",
    "queryUnitCost",
    "listBudgets",
    "listAnomalies",
    "getDashboard",
  ]) {
    const url = new URL(`../data/answers/${tool}.json`, import.meta.url);
    for (const { answer } of JSON.parse(readFileSync(url, "utf8"))) assert.equal(toolOf(answer), tool);
  }
  assert.equal(toolOf({ summary: "" }), "");
});

test("a share never claims nothing or everything", () => {
  assert.deepEqual([0, 0.0004, -0.0004, 0.323, 0.9997, 1].map(percent), [
    "0%",
    "<0.1%",
    ">-0.1%",
    "32.3%",
    ">99.9%",
    "100%",
  ]);
});
