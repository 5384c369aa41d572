// Draws every chart of a page from the JSON in its data-chart, in the page's theme. The page has a table of each chart.
import { chartOptions, labelText, stepText, tooltipRows, waterfallOptions } from "./lib/chart-options.js";
import { setSymbols } from "./lib/numbers.js";
import { ColorAssignment, chartTheme } from "./lib/palette.js";

// By element: its ECharts instance and its data.
const charts = new Map();
const colors = new ColorAssignment();

function currentTheme() {
  const isDark = document.documentElement.getAttribute("data-bs-theme") === "dark";
  return chartTheme(isDark, getComputedStyle(document.body).fontFamily);
}

// Elements, not HTML: the content security policy forbids inline styles, and names are text that people entered.
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
  };
  if (isWaterfall) return waterfallOptions(data, currentTheme(), node.clientWidth, context);
  return chartOptions(data, currentTheme(), context);
}

const resizer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { chart, data } = charts.get(target) || {};
    chart?.resize();
    // The rotation of a waterfall's labels follows its width.
    if (data?.kind === "waterfall") chart.setOption(options(data, target));
  }
});

// The symbols of the reader's locale stand in the page.
const symbols = document.documentElement.dataset.numberSymbols;
if (symbols) setSymbols(JSON.parse(symbols));

function draw(node) {
  const data = JSON.parse(node.dataset.chart);
  const chart = echarts.init(node);
  charts.set(node, { chart, data });
  chart.setOption(options(data, node));
  resizer.observe(node);
  node.dataset.drawn = "true";
}

function drawAll() {
  for (const [node, { chart }] of charts) {
    if (node.isConnected) continue;
    resizer.unobserve(node);
    chart.dispose();
    charts.delete(node);
  }
  // All charts are new: their colours are those that a page of its own would have.
  if (!charts.size) colors.clear();
  for (const node of document.querySelectorAll("[data-chart]")) if (!charts.has(node)) draw(node);
}

document.addEventListener("DOMContentLoaded", drawAll);
document.addEventListener("htmx:afterSettle", drawAll);
document.addEventListener("console:theme", () => {
  for (const [node, { chart, data }] of charts) chart.setOption({ ...options(data, node), animation: false }, true);
});
