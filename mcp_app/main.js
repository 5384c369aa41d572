// The view that hosts show for the answers of seven tools (MCP Apps): chart, table, other days and groups, drill-down.

import { chartTheme } from "../static/js/lib/palette.js";
import { draw } from "./chart.js";
import { daysOf, figuresOf, title, toolOf } from "./figures.js";
import { setLocale } from "./formats.js";
import { answerOf, Host } from "./host.js";
import {
  canChangeDays,
  canDrill,
  canGroup,
  canUngroup,
  drillDown,
  GROUPINGS,
  groupingOf,
  PERIODS,
  periodOf,
  withGrouping,
  withPeriod,
} from "./questions.js";

const INLINE_HEIGHT = 500;
const INLINE_ROWS = 8;
const CHART_HEIGHT = 208;
const LEAST_CHART_HEIGHT = 88;
const FULL_CHART_HEIGHT = 340;
const CHART_STEP = 24;

const state = {
  tool: "",
  args: {},
  answer: null,
  figure: 0,
  showsData: false,
  history: [],
  rows: INLINE_ROWS,
  chartHeight: CHART_HEIGHT,
  busy: false,
  error: "",
};
const root = document.querySelector("main");

const host = new Host(window.parent, {
  "ui/notifications/tool-input": (params) => {
    state.args = params.arguments ?? {};
  },
  "ui/notifications/tool-result": (params) => showResult(params),
  "ui/notifications/tool-cancelled": () => render({ error: "The call was canceled." }),
  "ui/notifications/host-context-changed": (context) => {
    Object.assign(host.context, context);
    applyContext();
    render();
  },
});

function showResult(result) {
  if (result.isError) return render({ error: result.content?.[0]?.text ?? "The call failed." });
  try {
    const answer = answerOf(result);
    state.tool ||= toolOf(answer);
    render({ answer, error: "", figure: 0 });
  } catch (error) {
    render({ error: error.message });
  }
}

function applyContext() {
  const { theme, locale, styles, toolInfo, safeAreaInsets } = host.context;
  if (toolInfo?.tool?.name) state.tool = toolInfo.tool.name;
  setLocale(locale);
  document.documentElement.lang = locale ?? "en";
  document.documentElement.dataset.theme = theme ?? "light";
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (value) document.documentElement.style.setProperty(name, value);
  }
  for (const [side, size] of Object.entries(safeAreaInsets ?? {})) {
    document.documentElement.style.setProperty(`--inset-${side}`, `${size}px`);
  }
}

function isInline() {
  return (host.context.displayMode ?? "inline") === "inline";
}

function mostHeight() {
  return isInline() ? Math.min(INLINE_HEIGHT, host.context.containerDimensions?.maxHeight || INLINE_HEIGHT) : Infinity;
}

async function ask(args, { remember = true } = {}) {
  const before = { args: state.args, answer: state.answer, figure: state.figure };
  render({ busy: true, error: "" });
  try {
    const answer = await host.callTool(state.tool, args);
    if (remember) state.history.push(before);
    render({ args, answer, figure: 0, busy: false });
  } catch (error) {
    render({ busy: false, error: error.message });
  }
}

function goBack() {
  render({ ...state.history.pop(), error: "" });
}

// Elements

function make(name, attributes = {}, children = []) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function choice(label, name, value, options, onChange) {
  const items = options.map(([key, text]) => make("option", { value: key, selected: key === value }, [text]));
  const select = make(
    "select",
    { name, disabled: state.busy, onchange: (event) => onChange(event.target.value) },
    items,
  );
  return make("label", {}, [make("span", {}, [label]), select]);
}

function button(text, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, [text]);
}

// Parts

function header(figure) {
  return make("header", {}, [
    make("div", {}, [
      make("h1", {}, [figure.label]),
      make("p", { class: "value" }, [figure.value]),
      make("p", { class: "note" }, [[daysOf(state.answer), figure.note].filter(Boolean).join(" · ")]),
    ]),
    make("div", { class: "actions" }, [
      host.canGoFullscreen && isInline()
        ? button("Full screen", () => host.requestDisplayMode("fullscreen").then(onDisplayMode, () => {}))
        : null,
      host.canOpenLinks && state.answer.console_url
        ? button("Open in console", () => host.openLink(state.answer.console_url))
        : null,
    ]),
  ]);
}

function onDisplayMode({ mode }) {
  host.context.displayMode = mode;
  render();
}

function warnings() {
  const list = [...(state.answer.warnings ?? [])];
  if (state.answer.truncated) list.push(state.answer.truncated);
  if (!list.length) return null;
  const [first, ...rest] = list;
  const shown = isInline() ? [] : rest;
  const more = isInline() && rest.length ? ` (${rest.length} more in full screen and in the answer)` : "";
  return make("div", { class: "warning", role: "note" }, [
    make("p", {}, [`${first}${more}`]),
    ...shown.map((text) => make("p", {}, [text])),
  ]);
}

function toolbar(figures) {
  const { tool, args, answer } = state;
  const parts = [];
  if (state.history.length) parts.push(button("Back", goBack, { disabled: state.busy }));
  if (figures.length > 1) {
    const currencies = figures.map((figure, index) => [String(index), figure.currency]);
    parts.push(
      choice("Currency", "currency", String(state.figure), currencies, (index) => render({ figure: Number(index) })),
    );
  }
  if (host.canCallTools && canGroup(tool)) {
    const now = groupingOf(args, answer);
    const names = GROUPINGS.includes(now) || !now ? GROUPINGS : [now, ...GROUPINGS];
    const none = canUngroup(tool) ? [["", "None"]] : [];
    const options = [...none, ...names.map((name) => [name, title(name)])];
    parts.push(choice("Group by", "group_by", now, options, (name) => ask(withGrouping(state.args, name))));
  }
  if (host.canCallTools && canChangeDays(tool)) {
    const now = periodOf(args, answer);
    const own = now ? [] : [["", daysOf(answer)]];
    const options = [...own, ...Object.entries(PERIODS)];
    const onChange = (period) => period && ask(withPeriod(state.args, period));
    parts.push(choice("Days", "period", now, options, onChange));
  }
  if (figures[state.figure].rows.length) {
    const label = state.showsData ? "View chart" : "View data";
    parts.push(
      button(label, () => render({ showsData: !state.showsData }), { "aria-pressed": String(state.showsData) }),
    );
  }
  return make("div", { class: "toolbar" }, parts);
}

function filterLine() {
  const filters = state.args.filters ?? [];
  const texts = filters.map((filter) => `${title(filter.dimension)}: ${(filter.values ?? []).join(", ")}`);
  return texts.length ? make("p", { class: "note" }, [texts.join(" › ")]) : null;
}

function chart(figure) {
  if (!figure.chart) return null;
  const theme = chartTheme(document.documentElement.dataset.theme === "dark", "sans-serif");
  const svg = draw(figure.chart, {
    width: Math.max(280, root.clientWidth),
    height: state.chartHeight,
    theme,
    label: `${figure.label}: ${figure.value}. View data shows the same as a table.`,
    onPick: pickOf(),
  });
  return make("div", { class: "chart" }, [svg, legend(figure.chart, theme)]);
}

function pickOf() {
  if (!host.canCallTools || state.busy || !canDrill(state.tool, state.args, state.answer)) return undefined;
  return (filter) => ask(drillDown(state.args, filter));
}

function legend(drawn, theme) {
  if (drawn.kind !== "stack" || drawn.series.length < 2) return null;
  const onPick = pickOf();
  const items = drawn.series.map((series, index) => {
    const color = series.rest ? theme.rest : theme.colors[index % theme.colors.length];
    const mark = make("i", { style: `background:${color}`, "aria-hidden": "true" });
    const name = make("span", { title: series.name }, [series.name]);
    const isPickable = onPick && series.filter;
    return make("li", {}, [
      isPickable
        ? make("button", { type: "button", onclick: () => onPick(series.filter) }, [mark, name])
        : make("span", {}, [mark, name]),
    ]);
  });
  return make("ul", { class: "legend" }, items);
}

function table(figure) {
  const rows = figure.rows.slice(0, state.rows);
  const onPick = pickOf();
  // Explicit roles: in some browsers cards (style.css) would be no table for screen readers.
  const head = figure.columns.map((name, index) =>
    make("th", { scope: "col", role: "columnheader", class: index ? "number" : "" }, [name]),
  );
  const body = rows.map((row) => {
    const isPickable = onPick && row.filter;
    const text = make("span", { class: "name" }, [row.name]);
    const name = isPickable ? button("", () => onPick(row.filter), { class: "link" }) : text;
    if (isPickable) name.append(text);
    const cells = row.cells.map((cell, index) =>
      make("td", { role: "cell", class: "number", "data-label": figure.columns[index + 1] }, [
        make("span", {}, [cell]),
      ]),
    );
    return make("tr", { role: "row" }, [make("th", { scope: "row", role: "rowheader" }, [name]), ...cells]);
  });
  const hidden = figure.rows.length - rows.length;
  return make("div", {}, [
    make("table", { role: "table" }, [
      make("caption", {}, [`${figure.label}${figure.currency ? `, ${figure.currency}` : ""}`]),
      make("thead", { role: "rowgroup" }, [make("tr", { role: "row" }, head)]),
      make("tbody", { role: "rowgroup" }, body),
    ]),
    hidden > 0 ? make("p", { class: "note" }, [`${hidden} more rows in full screen`]) : null,
  ]);
}

function content() {
  if (!state.answer) return [make("p", { class: "note", role: "status" }, [state.error || "Loading…"])];
  const figures = figuresOf(state.tool, state.answer);
  if (!figures.length) {
    return [
      make("p", { class: "summary" }, [state.answer.summary ?? ""]),
      warnings(),
      figures.length ? null : backOnly(),
    ];
  }
  const figure = figures[state.figure];
  return [
    header(figure),
    filterLine(),
    warnings(),
    toolbar(figures),
    state.error ? make("p", { class: "error", role: "alert" }, [state.error]) : null,
    figureBody(figure),
  ];
}

/** Null for a single amount, which the header shows. */
function figureBody(figure) {
  if (figure.chart && !state.showsData) return chart(figure);
  return figure.rows.length ? table(figure) : null;
}

function backOnly() {
  return state.history.length ? make("div", { class: "toolbar" }, [button("Back", goBack)]) : null;
}

function render(changes = {}) {
  Object.assign(state, changes);
  const focused = document.activeElement?.getAttribute("name");
  root.setAttribute("aria-busy", String(state.busy));
  state.rows = isInline() ? INLINE_ROWS : Infinity;
  state.chartHeight = isInline() ? CHART_HEIGHT : FULL_CHART_HEIGHT;
  show();
  while (height() > mostHeight() && shrink()) show();
  if (focused) root.querySelector(`[name="${focused}"]`)?.focus();
  host.sizeChanged(Math.min(mostHeight(), height()));
}

/** A long warning or a narrow host leaves the table or chart less room, as nothing scrolls within the view. False if
 * it can get no smaller. */
function shrink() {
  const isTable = Boolean(root.querySelector("tbody"));
  if (isTable ? state.rows <= 1 : state.chartHeight <= LEAST_CHART_HEIGHT) return false;
  if (isTable) state.rows -= 1;
  else state.chartHeight -= CHART_STEP;
  return true;
}

function show() {
  root.replaceChildren(...content().filter(Boolean));
  const data = root.querySelector("table");
  if (data) data.className = fits(data) ? "" : "cards";
}

/** Whether the columns are wide enough to read: no amount breaks, and names have their width or eight letters. */
function fits(data) {
  data.className = "measured";
  return data.offsetWidth <= root.clientWidth;
}

function height() {
  return Math.ceil(document.body.getBoundingClientRect().height);
}

let width = 0;
new ResizeObserver(() => {
  if (root.clientWidth === width) return;
  width = root.clientWidth;
  if (state.answer) render();
}).observe(root);

await host.connect("finops-console", "1");
applyContext();
render();
