import assert from "node:assert/strict";
import { test } from "node:test";

import {
  chartOptions,
  markerTexts,
  rowsOfBucket,
  stepText,
  tooltipRows,
  visibleMarkers,
  waterfallMinimum,
  waterfallOptions,
} from "../../static/js/lib/chart-options.js";
import { ColorAssignment, chartTheme } from "../../static/js/lib/palette.js";

const theme = chartTheme(false, "Inter");
const SPEND = {
  kind: "bar",
  stacked: true,
  currency: "USD",
  money: { prefix: "$", suffix: "", digits: 2 },
  labels: ["2026-09", "2026-10"],
  series: [
    { name: "AWS", values: [10, 20] },
    { name: "Azure", values: [5, null] },
    { name: "Other (2)", values: [1, 0], rest: true },
  ],
};

function options(data, width) {
  const context = { colorIndexes: new ColorAssignment().assign(data.series), animationDuration: 0 };
  return width ? waterfallOptions(data, theme, width, context) : chartOptions(data, theme, context);
}

/** As ECharts calls a tooltip's formatter at a label. */
function pointsAt(data, dataIndex) {
  return data.series.map((item, seriesIndex) => ({
    seriesIndex,
    dataIndex,
    seriesName: item.name,
    value: item.values[dataIndex],
    color: `color ${seriesIndex}`,
  }));
}

test("a chart names its currency and has a legend for several series only", () => {
  assert.equal(options(SPEND).title.text, "USD");
  assert.deepEqual(options(SPEND).legend.data, ["AWS", "Azure", "Other (2)"]);
  assert.equal(options({ ...SPEND, series: SPEND.series.slice(0, 1) }).legend, undefined);
});

test("bars are stacked in one stack and the rest is grey", () => {
  const { series } = options(SPEND);
  assert.deepEqual(
    series.map(({ type, stack }) => [type, stack]),
    Array(3).fill(["bar", "all"]),
  );
  assert.deepEqual(
    series.map(({ color }) => color),
    [theme.colors[0], theme.colors[1], theme.rest],
  );
});

test("a series has the colour of its tone", () => {
  const tones = ["limit", "warning", "like_first"].map((tone) => ({ name: tone, values: [1], tone }));
  const { series } = options({ ...SPEND, kind: "line", series: tones });
  assert.deepEqual(
    series.map(({ color }) => color),
    [theme.limit, theme.warning, theme.colors[0]],
  );
});

test("what is not measured is dashed, in the legend too", () => {
  const data = { ...SPEND, kind: "line", series: [SPEND.series[0], { name: "Forecast", values: [1], dashed: true }] };
  const { series, legend } = options(data);
  assert.deepEqual(
    series.map(({ lineStyle }) => lineStyle.type),
    ["solid", "dashed"],
  );
  assert.equal(legend.data[1].name, "Forecast");
  assert.match(legend.data[1].icon, /^path:/);
});

test("a band is its lower edge and the distance to the upper one, without days that have none", () => {
  const band = { name: "80 % range", lower: [null, 4], upper: [null, 10] };
  const [from, distance] = options({ ...SPEND, kind: "line", band }).series.slice(-2);
  assert.equal(from.lineStyle.opacity, 0);
  assert.deepEqual(from.data, [null, 4]);
  assert.deepEqual(distance.data, [null, 6]);
  assert.equal(distance.name, "80 % range");
});

test("a mark stands at its label, once", () => {
  const { series } = options({ ...SPEND, mark: "2026-10" });
  assert.deepEqual(series[0].markLine.data, [{ xAxis: "2026-10" }]);
  assert.equal(series[1].markLine, undefined);
});

test("a tooltip lists the largest amount first, then the total, without zeros and gaps", () => {
  const { rows } = tooltipRows(SPEND, pointsAt(SPEND, 0));
  assert.deepEqual(
    rows.map(({ name, text }) => [name, text]),
    [
      ["AWS", "$10.00"],
      ["Azure", "$5.00"],
      ["Other (2)", "$1.00"],
      ["Total", "$16.00"],
    ],
  );
  assert.deepEqual(
    tooltipRows(SPEND, pointsAt(SPEND, 1)).rows.map(({ name }) => name),
    ["AWS", "Total"],
  );
});

test("a tooltip without any value says so", () => {
  const data = { ...SPEND, series: [{ name: "AWS", values: [null] }] };
  assert.deepEqual(tooltipRows(data, pointsAt(data, 0)), { rows: [], isEmpty: true });
});

test("a window is shaded behind the series on an axis of its own, one label wide where it is one", () => {
  const { series, yAxis } = options({ ...SPEND, shade: ["2026-10", "2026-10"] });
  const shade = series.at(-1);
  assert.deepEqual(shade.data.filter(Boolean), [1]);
  assert.equal(shade.data.indexOf(1), SPEND.labels.indexOf("2026-10"));
  assert.deepEqual([shade.yAxisIndex, shade.barWidth, yAxis.length, yAxis[1].show], [1, "100%", 2, false]);
});

test("events are flags with their text at their labels", () => {
  const { series } = options({ ...SPEND, events: [{ label: "2026-10", text: "1, 2" }] });
  assert.equal(series[0].markLine.data[0].xAxis, "2026-10");
  assert.equal(series[0].markLine.data[0].label.formatter, "1, 2");
});

test("a tooltip names the band's range and leaves its helper series out", () => {
  const data = { ...SPEND, stacked: false, band: { name: "Range", lower: [1, null], upper: [2, null] } };
  const helpers = [{ seriesIndex: 3, dataIndex: 0, seriesName: "Range, from", value: 1 }];
  const { rows } = tooltipRows(data, [...pointsAt(data, 0), ...helpers]);
  assert.deepEqual(rows.at(-1), { name: "Range", text: "$1.00 – $2.00" });
  assert.equal(rows.length, 4);
  assert.equal(tooltipRows(data, pointsAt(data, 1)).rows.at(-1).name, "AWS");
});

test("quantities have no currency and their own decimals", () => {
  const data = { ...SPEND, currency: "", money: undefined, places: 1, stacked: false };
  assert.equal(tooltipRows(data, pointsAt(data, 0)).rows[0].text, "10");
});

const CHANGE = {
  kind: "waterfall",
  currency: "USD",
  money: { prefix: "$", suffix: "", digits: 2 },
  labels: ["Before", "EC2", "S3", "After"],
  steps: [
    [0, 100],
    [100, 130],
    [130, 110],
    [0, 110],
  ],
  series: [],
};

test("a waterfall's bars go from step to step, grey at both ends", () => {
  const [bars] = options(CHANGE, 800).series;
  assert.deepEqual(
    bars.data.map(({ value }) => value),
    [
      [0, 100, 0, 100],
      [100, 130, 100, 130],
      [130, 110, 110, 130],
      [0, 110, 0, 110],
    ],
  );
  assert.deepEqual(
    bars.data.map(({ itemStyle }) => itemStyle.color),
    [theme.rest, theme.up, theme.down, theme.rest],
  );
});

test("a step shows its difference with a sign, the first its sum", () => {
  assert.deepEqual(
    CHANGE.steps.map((_step, index) => stepText(CHANGE, index)),
    ["$100.00", "+$30.00", "−$20.00", "$110.00"],
  );
});

test("a waterfall starts at 0 unless its steps would be hairlines", () => {
  const steps = (before, after) => [
    [0, before],
    [before, after],
    [0, after],
  ];
  assert.equal(waterfallMinimum(steps(100, 200)), undefined);
  assert.equal(waterfallMinimum(steps(1000, 1010)), 990);
  assert.equal(waterfallMinimum(steps(5, -5)), undefined);
});

test("a waterfall stands still where its chart does", () => {
  const { series } = waterfallOptions(CHANGE, theme, 800, { colorIndexes: new Map(), animationDuration: 0 });
  assert.equal(series[0].animationDuration, 0);
});

test("labels of a waterfall turn where they have no room", () => {
  assert.equal(options(CHANGE, 800).xAxis.axisLabel.rotate, 0);
  assert.equal(options(CHANGE, 200).xAxis.axisLabel.rotate, 90);
  const many = { ...CHANGE, labels: Array(6).fill("EC2") };
  assert.equal(options(many, 800).xAxis.axisLabel.rotate, 30);
});

const PARTIAL = {
  ...SPEND,
  partialFrom: 1,
  series: [...SPEND.series, { name: "Remaining forecast", values: [null, 30], dashed: true, tone: "forecast" }],
};

test("a bucket that is not complete is hatched, the others are not", () => {
  const { series, aria } = options(PARTIAL);
  assert.equal(series[0].data[0], 10);
  assert.equal(series[0].data[1].value, 20);
  assert.equal(series[0].data[1].itemStyle.decal.color, theme.hatch);
  assert.equal(series[3].color, theme.forecast);
  assert.equal(aria.enabled, true);
  assert.equal(options(SPEND).aria, undefined);
});

test("the remaining forecast stands last in the tooltip and is no part of its total", () => {
  const { rows } = tooltipRows(PARTIAL, pointsAt(PARTIAL, 1));
  assert.deepEqual(
    rows.map(({ name, text }) => [name, text]),
    [
      ["AWS", "$20.00"],
      ["Remaining forecast", "$30.00"],
      ["Total", "$20.00"],
    ],
  );
});

test("a series that a click follows has a pointer", () => {
  const { series } = options({ ...SPEND, links: ["?group_by=service", "", ""] });
  assert.deepEqual(
    series.map(({ cursor }) => cursor),
    ["pointer", "default", "default"],
  );
});

test("what happened in a bucket stands in its tooltip and as an upright line", () => {
  const events = [{ kind: "Deployment", titles: ["checkout v142"], count: 3 }];
  const markers = [{ label: SPEND.labels[1], events }];
  const data = { ...SPEND, markers };

  assert.deepEqual(markerTexts(data, 1), ["Deployment: checkout v142", "… and 2 more"]);
  assert.deepEqual(markerTexts(data, 0), []);
  assert.deepEqual(
    options(data).series[0].markLine.data.map(({ xAxis }) => xAxis),
    [SPEND.labels[1]],
  );
});

test("events of hidden kinds have no marker, and the tooltip names five", () => {
  const events = [
    { kind: "Deployment", titles: ["a", "b", "c", "d"], count: 4 },
    { kind: "Note", titles: ["e", "f"], count: 2 },
  ];
  const markers = [
    { label: SPEND.labels[0], events: [events[1]] },
    { label: SPEND.labels[1], events },
  ];

  assert.deepEqual(markerTexts({ ...SPEND, markers }, 1).slice(4), ["Note: e", "… and 1 more"]);
  const visible = visibleMarkers(markers, ["Note"]);
  assert.deepEqual(visible, [{ label: SPEND.labels[1], events: [events[0]] }]);
  assert.equal(visibleMarkers(undefined, ["Note"]), undefined);
});

test("the rows of a marker are those of the days in its bucket", () => {
  const days = ["2026-03-20", "2026-03-10", "2026-03-09", "2026-02-28"];

  assert.deepEqual(rowsOfBucket(days, ["2026-02", "2026-03"], "2026-03"), [0, 1, 2]);
  assert.deepEqual(rowsOfBucket(days, ["2026-03-02", "2026-03-09", "2026-03-16"], "2026-03-09"), [1, 2]);
  assert.deepEqual(rowsOfBucket(days, ["2026-02"], "2026-02"), [3]);
});
