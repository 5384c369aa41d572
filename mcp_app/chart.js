// Charts as SVG: what a view of 400 KB has room for. Their figures are in the table beside, so each is one image to a
// screen reader.

import { barMoney, money, shortMoney } from "./formats.js";

const SVG = "http://www.w3.org/2000/svg";
const MAX_LABELS = 6;
const LEFT = 56;
const BOTTOM = 20;
const TOP = 8;

export function element(name, attributes = {}, children = []) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** `chart` as figures.js has it; `onPick` gets the filter of what a person clicks. */
export function draw(chart, { width, height, theme, label, onPick }) {
  const frame = { width, height, theme, onPick };
  const parts = { bars, stack, range, progress, board }[chart.kind](chart, frame);
  const size = parts.height ?? height;
  const svg = element("svg", {
    viewBox: `0 0 ${width} ${size}`,
    width,
    height: size,
    role: "img",
    "aria-label": label,
  });
  svg.append(...parts.nodes);
  return svg;
}

function text(content, attributes) {
  return element("text", { "font-size": 11, ...attributes }, [content]);
}

/** The text, or its beginning, in about so many pixels. */
function shortened(name, pixels) {
  const room = Math.max(4, Math.floor(pixels / 6.2));
  return name.length > room ? `${name.slice(0, room - 1)}…` : name;
}

function pickable(node, filter, onPick) {
  if (!filter || !onPick) return node;
  node.classList.add("pick");
  node.addEventListener("click", () => onPick(filter));
  return node;
}

/** Round steps that hold the values: at most four. */
export function ticksOf(lowest, highest) {
  const low = Math.min(lowest, 0);
  const high = Math.max(highest, 0) || (low < 0 ? 0 : 1);
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const ticks = [];
  for (let at = Math.floor(low / step); (at - 1) * step < high; at += 1) ticks.push(at * step);
  return ticks;
}

function axes(ticks, y, labels, x, { width, height, theme }, currency) {
  const nodes = ticks.flatMap((tick) => [
    element("line", { x1: LEFT, x2: width, y1: y(tick), y2: y(tick), stroke: theme.line }),
    text(shortMoney(tick, currency), { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end", fill: theme.text }),
  ]);
  const every = Math.ceil(labels.length / MAX_LABELS);
  for (const [index, label] of labels.entries()) {
    if (index % every === 0) {
      nodes.push(text(label, { x: x(index), y: height - 5, "text-anchor": "middle", fill: theme.text }));
    }
  }
  return nodes;
}

function scale(ticks, height) {
  const [low, high] = [ticks[0], ticks.at(-1)];
  return (value) => TOP + ((high - value) / (high - low)) * (height - TOP - BOTTOM);
}

function stack(chart, frame) {
  const { width, height, theme } = frame;
  const heights = chart.buckets.map((_, index) => {
    const values = chart.series.map((each) => each.values[index] ?? 0);
    return {
      up: values.filter((value) => value > 0).reduce((sum, value) => sum + value, 0),
      down: values.filter((value) => value < 0).reduce((sum, value) => sum + value, 0),
    };
  });
  const ticks = ticksOf(Math.min(...heights.map((each) => each.down)), Math.max(...heights.map((each) => each.up)));
  const y = scale(ticks, height);
  const step = (width - LEFT) / chart.buckets.length;
  const x = (index) => LEFT + (index + 0.5) * step;
  const nodes = axes(ticks, y, chart.labels, x, frame, chart.currency);
  for (const [index, label] of chart.labels.entries()) {
    let [above, below] = [0, 0];
    for (const [position, series] of chart.series.entries()) {
      const value = series.values[index] ?? 0;
      if (!value) continue;
      const from = value > 0 ? above : below;
      if (value > 0) above += value;
      else below += value;
      const [top, end] = [Math.min(y(from), y(from + value)), Math.max(y(from), y(from + value))];
      const isIncomplete = chart.incompleteFrom >= 0 && index >= chart.incompleteFrom;
      const bar = element("rect", {
        x: x(index) - step * 0.38,
        y: top,
        width: step * 0.76,
        height: Math.max(0.5, end - top),
        fill: series.rest ? theme.rest : theme.colors[position % theme.colors.length],
        "fill-opacity": isIncomplete ? 0.45 : 1,
      });
      const note = isIncomplete ? " (incomplete)" : "";
      bar.append(element("title", {}, [`${label} · ${series.name}: ${money(value, chart.currency)}${note}`]));
      nodes.push(pickable(bar, series.filter, frame.onPick));
    }
  }
  return { nodes };
}

function range(chart, { width, height, theme }) {
  const all = [chart.values, chart.lower ?? [], chart.upper ?? []].flat().filter((value) => value !== null);
  const ticks = ticksOf(Math.min(...all, 0), Math.max(...all, 0));
  const y = scale(ticks, height);
  const step = (width - LEFT) / Math.max(1, chart.labels.length);
  const x = (index) => LEFT + (index + 0.5) * step;
  const nodes = axes(ticks, y, chart.labels, x, { width, height, theme }, chart.currency);
  const points = (values) =>
    values.map((value, index) => (value === null ? "" : `${x(index)},${y(value)}`)).filter(Boolean);
  if (chart.lower?.some((value) => value !== null)) {
    const outline = [...points(chart.upper), ...points(chart.lower).reverse()].join(" ");
    nodes.push(element("polygon", { points: outline, fill: theme.forecast }));
  }
  nodes.push(
    element("polyline", {
      points: points(chart.values).join(" "),
      fill: "none",
      stroke: theme.colors[0],
      "stroke-width": 2,
    }),
  );
  for (const [index, value] of chart.values.entries()) {
    if (value === null) continue;
    const dot = element("circle", { cx: x(index), cy: y(value), r: 3, fill: theme.colors[0] });
    dot.append(element("title", {}, [`${chart.labels[index]}: ${money(value, chart.currency)}`]));
    nodes.push(dot);
  }
  return { nodes };
}

const ROW = 24;

function rowsThatFit(items, height) {
  return items.slice(0, Math.max(1, Math.floor(height / ROW)));
}

function bars(chart, frame) {
  const { width, height, theme } = frame;
  const shown = rowsThatFit(chart.bars, height);
  const nameRoom = Math.min(180, width * 0.38);
  const valueRoom = 76;
  const room = width - nameRoom - valueRoom - 12;
  const largest = Math.max(...shown.map((bar) => Math.abs(bar.value)), 1e-9);
  const hasBoth = shown.some((bar) => bar.value < 0) && shown.some((bar) => bar.value > 0);
  const zero = nameRoom + 6 + (hasBoth ? room / 2 : 0);
  const nodes = [];
  for (const [index, bar] of shown.entries()) {
    const size = (Math.abs(bar.value) / largest) * (hasBoth ? room / 2 : room);
    const top = index * ROW;
    const tone = chart.isChange ? (bar.value > 0 ? theme.up : theme.down) : theme.colors[0];
    const row = element("g", {}, [
      text(shortened(bar.name, nameRoom), { x: nameRoom, y: top + 16, "text-anchor": "end", class: "name" }),
      element("rect", {
        x: hasBoth && bar.value < 0 ? zero - size : zero,
        y: top + 4,
        width: bar.value ? Math.max(1, size) : 0,
        height: ROW - 8,
        rx: 2,
        fill: tone,
      }),
      text(barMoney(bar.value, chart.currency), { x: width, y: top + 16, "text-anchor": "end", fill: theme.text }),
      element("title", {}, [`${bar.name}: ${money(bar.value, chart.currency)}`]),
    ]);
    nodes.push(pickable(row, bar.filter, frame.onPick));
  }
  return { nodes, height: shown.length * ROW };
}

/** Spent, forecast and limit of each: a bar, its hatched end and a mark. */
function progress(chart, frame) {
  const { width, height, theme } = frame;
  const shown = rowsThatFit(chart.bars, height);
  const nameRoom = Math.min(180, width * 0.34);
  const labelRoom = 116;
  const room = width - nameRoom - labelRoom - 12;
  const nodes = [];
  for (const [index, bar] of shown.entries()) {
    // Budgets are of several currencies: each fills its own row.
    const most = Math.max(bar.value, bar.until ?? 0, bar.limit ?? 0, 1e-9);
    const at = (value) => (Math.max(0, value) / most) * room;
    const top = index * ROW;
    const fill = { exceeded: theme.limit, warning: theme.warning }[bar.tone] ?? theme.colors[0];
    const left = nameRoom + 6;
    const label = bar.label ?? barMoney(bar.until ?? bar.value, bar.currency);
    const row = element("g", {}, [
      text(shortened(bar.name, nameRoom), { x: nameRoom, y: top + 16, "text-anchor": "end", class: "name" }),
      element("rect", { x: left, y: top + 4, width: room, height: ROW - 8, rx: 2, fill: theme.line }),
      element("rect", {
        x: left,
        y: top + 4,
        width: at(bar.until),
        height: ROW - 8,
        rx: 2,
        fill,
        "fill-opacity": 0.35,
      }),
      element("rect", { x: left, y: top + 4, width: Math.max(1, at(bar.value)), height: ROW - 8, rx: 2, fill }),
      text(label, { x: width, y: top + 16, "text-anchor": "end", fill: theme.text }),
      element("title", {}, [
        `${bar.name}: ${money(bar.value, bar.currency)}, forecast ${money(bar.until, bar.currency)}`,
      ]),
    ]);
    if (bar.limit) {
      const mark = left + at(bar.limit);
      row.append(element("line", { x1: mark, x2: mark, y1: top + 2, y2: top + ROW - 2, class: "limit" }));
    }
    nodes.push(pickable(row, bar.filter, frame.onPick));
  }
  return { nodes, height: shown.length * ROW };
}

const COLUMNS = 12;

/** Where the widgets of a dashboard stand. */
function board(chart, { width, height, theme }) {
  const rows = Math.max(1, ...chart.widgets.map(({ position }) => position.y + position.h));
  const cell = { width: width / COLUMNS, height: Math.min(14, height / rows) };
  const nodes = chart.widgets.map(({ title, position }) => {
    const [x, y] = [position.x * cell.width, position.y * cell.height];
    const size = { width: position.w * cell.width - 4, height: position.h * cell.height - 4 };
    return element("g", {}, [
      element("rect", {
        x: x + 2,
        y: y + 2,
        ...size,
        rx: 3,
        fill: theme.line,
        stroke: theme.rest,
        "stroke-width": 0.5,
      }),
      text(shortened(title, size.width - 8), { x: x + 8, y: y + 16, class: "name" }),
      element("title", {}, [title]),
    ]);
  });
  return { nodes, height: rows * cell.height };
}
