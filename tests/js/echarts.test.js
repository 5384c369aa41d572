// ECharts says on the console which part an option needs that is not among those of vendor/echarts.js.
import assert from "node:assert/strict";
import { test } from "node:test";
import { use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

import { chartOptions, waterfallOptions } from "../../static/js/lib/chart-options.js";
import { chartTheme } from "../../static/js/lib/palette.js";
import { init } from "../../vendor/echarts.js";

use([SVGRenderer]); // without a document

const THEME = chartTheme(false, "sans-serif");
const SERIES = [
  { name: "EC2", values: [1, 2, 3] },
  { name: "S3", values: [2, null, 1], dashed: true },
];
const DATA = { kind: "line", currency: "USD", labels: ["a", "b", "c"], series: SERIES };
const CONTEXT = {
  colorIndexes: new Map([
    ["EC2", 0],
    ["S3", 1],
  ]),
  tooltip: () => "",
  animationDuration: 0,
  height: 300,
};

function draw(t, option) {
  const said = [];
  for (const name of ["error", "log", "warn"]) t.mock.method(console, name, (...texts) => said.push(texts.join(" ")));
  const chart = init(null, null, { renderer: "svg", ssr: true, width: 400, height: 300 });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  assert.deepEqual(said, []);
  return svg;
}

test("lines with a band and a mark are drawn with the parts that are bundled", (t) => {
  const band = { name: "80% range", lower: [null, 1, 1], upper: [null, 3, 4] };
  const svg = draw(t, chartOptions({ ...DATA, band, mark: "b" }, THEME, CONTEXT));
  assert.match(svg, /EC2/);
});

test("stacked bars are drawn with the parts that are bundled", (t) => {
  assert.match(draw(t, chartOptions({ ...DATA, kind: "bar", stacked: true }, THEME, CONTEXT)), /<path/);
});

test("buckets that are not complete are hatched with the parts that are bundled", (t) => {
  const drawing = { ...DATA, kind: "bar", stacked: true, partialFrom: 2 };
  assert.match(draw(t, chartOptions(drawing, THEME, CONTEXT)), /<pattern/);
});

test("a waterfall is drawn with the parts that are bundled", (t) => {
  const steps = [
    [0, 5],
    [5, 7],
    [0, 7],
  ];
  assert.match(draw(t, waterfallOptions({ ...DATA, series: [], steps }, THEME, 400, CONTEXT)), /<path/);
});

test("a part that is missing is named", (t) => {
  assert.throws(() => draw(t, { series: [{ type: "pie", data: [1] }] }), /pie/i);
});
