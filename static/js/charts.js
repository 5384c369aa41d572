// Draws every chart of a page from the JSON in its data-chart, in the page's theme. A table shows the same data.
import { onMarkerSwitch, openMarkers, withVisibleMarkers } from "./chart-markers.js";
import { pinchRange, selectRange } from "./chart-range.js";
import {
  axisParts,
  chartOptions,
  labelText,
  markerTexts,
  stepText,
  tooltipRows,
  waterfallOptions,
} from "./lib/chart-options.js";
import { setSymbols } from "./lib/numbers.js";
import { ColorAssignment, chartTheme } from "./lib/palette.js";

// The ECharts instance and the data by element.
export const charts = new Map();
const colors = new ColorAssignment();

// Read once, because each read makes the browser compute the styles of the whole page.
let font;

export function currentTheme() {
  font ??= getComputedStyle(document.body).fontFamily;
  return chartTheme(document.documentElement.getAttribute("data-bs-theme") === "dark", font);
}

// Elements instead of HTML: the content security policy forbids inline styles, and names are text that people entered.
function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function tooltipRow({ name, text, color, isDashed, isTotal }) {
  const label = element("td", isTotal ? "" : "chart-tip-name");
  if (color) {
    const swatch = element("span", isDashed ? "chart-tip-swatch chart-tip-dashed" : "chart-tip-swatch");
    swatch.style[isDashed ? "color" : "backgroundColor"] = color;
    label.append(swatch);
  }
  label.append(name);
  return element("tr", isTotal ? "chart-tip-total" : "", label, element("td", "num", text));
}

function tooltip(data, points) {
  const box = element("div", "chart-tip", element("div", "chart-tip-title", labelText(data, points[0].dataIndex)));
  const { rows, isEmpty } = tooltipRows(data, points);
  if (isEmpty) box.append(element("div", "", "No data"));
  box.append(element("table", "", ...rows.map(tooltipRow)));
  box.append(...markerTexts(data, points[0].dataIndex).map((text) => element("div", "chart-tip-name", `▾ ${text}`)));
  return box;
}

function waterfallTooltip(data, [point]) {
  const title = element("div", "chart-tip-title", point.axisValueLabel);
  return element("div", "chart-tip", title, element("div", "num", stepText(data, point.dataIndex)));
}

function options(data, node) {
  const isWaterfall = data.kind === "waterfall";
  const context = {
    colorIndexes: colors.assign(data.series),
    tooltip: (points) => (isWaterfall ? waterfallTooltip : tooltip)(data, points),
    animationDuration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250,
    height: node.clientHeight,
  };
  if (isWaterfall) return waterfallOptions(data, currentTheme(), node.clientWidth, context);
  return chartOptions(data, currentTheme(), context);
}

// The observer reports a chart's size at its first observation too; drawing again would double the time.
const resizer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { chart, data } = charts.get(target) || {};
    if (!chart || (chart.getWidth() === target.clientWidth && chart.getHeight() === target.clientHeight)) continue;
    chart.resize();
    // The rotation of a waterfall's labels depends on its width.
    if (data.kind === "waterfall") chart.setOption(options(data, target));
    else chart.setOption({ yAxis: { splitNumber: axisParts(target.clientHeight) } });
  }
});

// The page contains the symbols of the reader's locale.
const symbols = document.documentElement.dataset.numberSymbols;
if (symbols) setSymbols(JSON.parse(symbols));

// A page with links listens to chart:open: a click on a series, or a drag over buckets.
function follow(node, chart, data) {
  function open(url) {
    if (url) node.dispatchEvent(new CustomEvent("chart:open", { bubbles: true, detail: url }));
  }
  const hasDragged = data.zoom ? selectRange(node, chart, data.zoom, open) : () => false;
  if (data.zoom) pinchRange(node, chart, data.zoom, open);
  if (data.links) {
    chart.on("click", ({ componentType, seriesIndex }) => {
      if (componentType === "series" && !hasDragged()) open(data.links[seriesIndex]);
    });
  }
}

function readData(node) {
  return withVisibleMarkers(JSON.parse(node.dataset.chart));
}

onMarkerSwitch(() => {
  for (const [node, entry] of charts) {
    entry.data = readData(node);
    entry.chart.setOption({ ...options(entry.data, node), animation: false }, true);
  }
});

function draw(node) {
  const entry = { chart: echarts.init(node), data: readData(node) };
  charts.set(node, entry);
  entry.chart.setOption(options(entry.data, node));
  follow(node, entry.chart, entry.data);
  openMarkers(node, entry.chart, () => entry.data);
  resizer.observe(node);
  node.dataset.drawn = "true";
}

// One chart is drawn per task, so that the page responds between them: visible charts first, the others when the
// browser is idle.
const queue = [];
const inSight = new Set();
let isDrawing = false;

function drawFirst() {
  const node = queue.shift();
  inSight.delete(node);
  sight.unobserve(node);
  if (node.isConnected) draw(node);
}

function drawNext() {
  isDrawing = queue.length > 0;
  if (!isDrawing) return;
  const drawAndGoOn = () => {
    if (queue.length) drawFirst();
    drawNext();
  };
  if (inSight.has(queue[0]) || !globalThis.requestIdleCallback) setTimeout(drawAndGoOn);
  else requestIdleCallback(drawAndGoOn, { timeout: 500 });
}

const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inSight.add(target);
      else inSight.delete(target);
    }
    queue.sort((a, b) => inSight.has(b) - inSight.has(a));
    if (!isDrawing) drawNext();
  },
  { rootMargin: "100px" },
);

function drawAll() {
  for (const [node, { chart }] of charts) {
    if (node.isConnected) continue;
    resizer.unobserve(node);
    chart.dispose();
    charts.delete(node);
  }
  // All charts are new, so their colours are those of a newly loaded page.
  if (!charts.size && !queue.length) colors.clear();
  for (const node of document.querySelectorAll("[data-chart]")) {
    if (charts.has(node) || queue.includes(node)) continue;
    // In the order of the page, whichever chart is drawn first.
    colors.assign(JSON.parse(node.dataset.chart).series);
    queue.push(node);
    sight.observe(node);
  }
}

document.addEventListener("DOMContentLoaded", drawAll);
document.addEventListener("htmx:afterSettle", drawAll);
document.addEventListener("console:theme", () => {
  for (const [node, { chart, data }] of charts) chart.setOption({ ...options(data, node), animation: false }, true);
});
addEventListener("beforeprint", () => {
  while (queue.length) drawFirst();
});
