// ECharts options of a page's charts. Their data is the JSON of finops/lib/charts.py: kind (bar, line or waterfall),
// labels, series, currency, and optionally texts (of labels that are days), money (the symbols around an amount),
// stacked, band, mark, shade (its first and last label), events (a label and a text each), markers (a label and the
// events of its bucket, by kind), places, links (a URL for each series), zoom and partialFrom (the index of the first
// incomplete bucket).
import { formatAxisValue, formatMoney, formatNumber } from "./numbers.js";

const HATCHES = { enabled: true, label: { enabled: false }, decal: { show: true, decals: [{ symbol: "none" }] } };
const TWO_DASHES = "path://M0 0h8v6h-8zM12 0h8v6h-8z";

/** Returns "$12.00", or a quantity with its unit. */
export function formatWithUnit(value, data) {
  return data.money ? formatMoney(value, data.money) : `${formatNumber(value, data.places)} ${data.currency}`.trimEnd();
}

/** Returns the label of axis and tooltip: a day as text in the reader's locale. */
export function labelText(data, index) {
  return data.texts?.[index] ?? data.labels[index];
}

/** Returns the markers without events of hidden kinds, and without markers that have no other events. */
export function visibleMarkers(markers, hiddenKinds) {
  return markers
    ?.map((marker) => ({ ...marker, events: marker.events.filter(({ kind }) => !hiddenKinds.includes(kind)) }))
    .filter(({ events }) => events.length);
}

/** Returns the indexes of the days in a label's bucket: a label is the first day or the month of its bucket. */
export function rowsOfBucket(days, labels, label) {
  const next = labels[labels.indexOf(label) + 1];
  return [...days.keys()].filter((place) => {
    const day = days[place];
    return day >= label && (next ? day < next : labels.length > 1 || day.startsWith(label));
  });
}

const MAX_MARKER_TEXTS = 5;

/** Returns the events at a label, one per line: `Deployment: checkout v142`. */
export function markerTexts(data, index) {
  const events = data.markers?.find(({ label }) => label === data.labels[index])?.events ?? [];
  const texts = events.flatMap(({ kind, titles }) => titles.map((title) => `${kind}: ${title}`));
  const shown = texts.slice(0, MAX_MARKER_TEXTS);
  const more = events.reduce((sum, { count }) => sum + count, 0) - shown.length;
  return more ? [...shown, `… and ${more} more`] : shown;
}

/**
 * The rows of the tooltip at one label: `{name, text, color, isDashed}`, largest amount first, a forecast last and not
 * in the total. The total and the band have no colour. `points` is the argument of ECharts' tooltip formatter.
 */
export function tooltipRows(data, points) {
  const isForecast = (point) => data.series[point.seriesIndex].tone === "forecast";
  const values = points
    .filter((point) => point.seriesIndex < data.series.length && point.value !== null && point.value !== undefined)
    .sort((a, b) => isForecast(a) - isForecast(b) || Math.abs(b.value) - Math.abs(a.value));
  const rows = values
    .filter((point) => Number(point.value) !== 0)
    .map((point) => ({
      name: point.seriesName,
      text: formatWithUnit(Number(point.value), data),
      color: point.color,
      isDashed: Boolean(data.series[point.seriesIndex].dashed),
    }));
  if (values.length > 1 && data.stacked) {
    const spent = values.filter((point) => !isForecast(point));
    const total = spent.reduce((sum, point) => sum + Number(point.value), 0);
    rows.push({ name: "Total", text: formatWithUnit(total, data), isTotal: true });
  }
  const index = points[0].dataIndex;
  if (data.band && data.band.lower[index] !== null) {
    const lower = formatWithUnit(data.band.lower[index], data);
    rows.push({ name: data.band.name, text: `${lower} – ${formatWithUnit(data.band.upper[index], data)}` });
  }
  return { rows, isEmpty: !values.length };
}

function seriesColor(item, theme, colorIndexes) {
  if (item.rest) return theme.rest;
  if (item.tone in theme) return theme[item.tone];
  return theme.colors[item.tone === "like_first" ? 0 : colorIndexes.get(item.name)];
}

/** An invisible line at the lower edge; the distance to the upper edge is stacked on it and shaded. */
function bandSeries(data, theme) {
  if (!data.band) return [];
  const { lower, upper, name } = data.band;
  const edge = {
    type: "line",
    stack: "band",
    stackStrategy: "all",
    symbol: "none",
    silent: true,
    lineStyle: { opacity: 0 },
    tooltip: { show: false },
    color: theme.colors[0],
  };
  const distance = upper.map((value, index) => (value === null ? null : value - lower[index]));
  return [
    { ...edge, name: `${name}, from`, data: lower },
    { ...edge, name, data: distance, areaStyle: { color: theme.colors[0], opacity: 0.16 } },
  ];
}

/**
 * Shaded days behind the lines. Bars on a separate axis, because an area from a label to the same label has no width.
 */
function shadeSeries(data, theme) {
  if (!data.shade) return [];
  const [first, last] = data.shade.map((label) => data.labels.indexOf(label));
  return [
    {
      name: "shade",
      type: "bar",
      yAxisIndex: 1,
      z: 0,
      silent: true,
      animation: false,
      barWidth: "100%",
      color: theme.limit,
      itemStyle: { opacity: 0.1 },
      tooltip: { show: false },
      data: data.labels.map((_label, index) => (index >= first && index <= last ? 1 : null)),
    },
  ];
}

/** The second axis, which is used for the shade, is not drawn. */
function valueAxes(data, axis) {
  return data.shade ? [axis, { type: "value", min: 0, max: 1, show: false }] : axis;
}

// With more markers than this the lines would hide the chart, so only the triangles are drawn.
const MAX_MARKER_LINES = 12;

function markLine(data, theme) {
  if (!data.mark && !data.events && !data.markers) return undefined;
  const width = data.markers?.length > MAX_MARKER_LINES ? 0 : 1;
  const markers = (data.markers ?? []).map(({ label }) => ({
    xAxis: label,
    lineStyle: { color: theme.text, type: "dotted", opacity: 0.45, width },
    label: { formatter: "▾", position: "end", distance: 0, color: theme.text },
  }));
  const events = (data.events ?? []).map(({ label, text }) => ({
    xAxis: label,
    lineStyle: { color: theme.text, type: "dashed" },
    label: { formatter: text, position: "end", color: theme.text },
  }));
  return {
    silent: true,
    symbol: "none",
    animation: false,
    lineStyle: { color: theme.limit, type: "dotted" },
    label: {
      color: theme.text,
      formatter: labelText(data, data.labels.indexOf(data.mark)) ?? data.mark,
      position: "insideStartTop",
    },
    data: [...(data.mark ? [{ xAxis: data.mark }] : []), ...events, ...markers],
  };
}

/** The values; those of incomplete buckets are hatched. */
function itemsOf(data, item, theme) {
  if (data.partialFrom === undefined) return item.values;
  const decal = { color: theme.hatch, dashArrayX: [1, 0], dashArrayY: [3, 4], rotation: -Math.PI / 4 };
  return item.values.map((value, index) => (index < data.partialFrom ? value : { value, itemStyle: { decal } }));
}

function dataSeries(data, item, index, theme, colorIndexes) {
  const isLine = data.kind === "line";
  return {
    name: item.name,
    type: isLine ? "line" : "bar",
    stack: data.stacked ? "all" : undefined,
    data: itemsOf(data, item, theme),
    color: seriesColor(item, theme, colorIndexes),
    cursor: data.links?.[index] ? "pointer" : "default",
    barMaxWidth: 44,
    barCategoryGap: "28%",
    symbol: "circle",
    symbolSize: 5,
    showSymbol: item.values.length < 2,
    lineStyle: { width: item.rest && isLine ? 1.5 : 2, type: item.dashed ? "dashed" : "solid" },
    markLine: index === 0 ? markLine(data, theme) : undefined,
    areaStyle: isLine && data.stacked ? { opacity: 0.25 } : undefined,
    emphasis: { focus: data.series.length > 1 ? "series" : "none" },
  };
}

function legend(data, theme) {
  return {
    type: "scroll",
    bottom: 0,
    left: 0,
    itemWidth: 10,
    itemHeight: 10,
    icon: "roundRect",
    data: data.series.map((item) => (item.dashed ? { name: item.name, icon: TWO_DASHES } : item.name)),
    textStyle: { color: theme.text, width: 180, overflow: "truncate" },
    pageIconColor: theme.text,
    pageTextStyle: { color: theme.text },
  };
}

/** The axis names the currency. */
function title(data, theme) {
  return {
    text: data.currency,
    left: 8,
    top: 6,
    padding: 0,
    textStyle: { color: theme.text, fontSize: 12, fontWeight: "normal", width: 240, overflow: "truncate" },
  };
}

/** The number of parts of an axis: its labels are at least 40 px apart. `height` is that of the chart in px. */
export function axisParts(height) {
  return Math.max(1, Math.min(5, Math.floor((height - 72) / 40)));
}

/**
 * Options of bars and lines. `colorIndexes` comes from ColorAssignment, `tooltip` creates the element for a list of
 * points, `height` is that of the chart in px.
 */
export function chartOptions(data, theme, { colorIndexes, tooltip, animationDuration, height = 320 }) {
  const hasLegend = data.series.length > 1;
  return {
    animationDuration,
    animationDurationUpdate: animationDuration,
    // Decals are drawn only if they are shown for all series; plain series have an empty one.
    aria: data.partialFrom === undefined ? undefined : HATCHES,
    textStyle: { fontFamily: theme.font, color: theme.text },
    title: title(data, theme),
    grid: {
      left: 8,
      right: 12,
      top: data.currency ? 32 : 16,
      bottom: hasLegend ? 36 : 8,
      outerBoundsMode: "same",
      outerBoundsContain: "axisLabel",
    },
    legend: hasLegend ? legend(data, theme) : undefined,
    tooltip: {
      trigger: "axis",
      confine: true,
      axisPointer: { type: data.kind === "line" ? "line" : "shadow" },
      backgroundColor: theme.surface,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 12 },
      formatter: tooltip,
    },
    xAxis: {
      type: "category",
      data: data.labels,
      axisLine: { lineStyle: { color: theme.line } },
      axisTick: { show: false },
      axisLabel: { color: theme.text, hideOverlap: true, formatter: (_label, index) => labelText(data, index) },
    },
    yAxis: valueAxes(data, {
      type: "value",
      splitNumber: axisParts(height),
      ...(data.places === 0 && !data.money && { minInterval: 1 }),
      axisLabel: { color: theme.text, formatter: (value) => formatAxisValue(value, data.money) },
      splitLine: { lineStyle: { color: theme.line } },
    }),
    series: [
      ...data.series.map((item, index) => dataSeries(data, item, index, theme, colorIndexes)),
      ...bandSeries(data, theme),
      ...shadeSeries(data, theme),
    ],
  };
}

/**
 * The start of a waterfall's axis; undefined is 0. Small steps of a large sum would be hairlines: where they span less
 * than a quarter of it, the axis starts below the lowest amount.
 */
export function waterfallMinimum(steps) {
  const amounts = steps.flat().filter((amount) => amount !== 0);
  const [low, high] = [Math.min(...amounts), Math.max(...amounts)];
  const unit = 10 ** Math.floor(Math.log10(high - low || 1));
  if (low <= 0 || high - low >= 0.25 * high) return undefined;
  return Math.max(0, Math.floor((2 * low - high) / unit) * unit);
}

/** The difference that a step of a waterfall shows, signed; the first step is a sum and has no sign. */
export function stepText(data, index) {
  const [from, to] = data.steps[index];
  return `${to > from && from !== 0 ? "+" : ""}${formatWithUnit(to - from, data)}`;
}

function labelRotation(isNarrow, count) {
  if (isNarrow) return 90;
  return count > 5 ? 30 : 0;
}

/**
 * Bars from one amount to the next (`data.steps`); the first and the last start at 0. `width` is that of the chart in
 * px.
 */
export function waterfallOptions(data, theme, width, context) {
  const last = data.steps.length - 1;
  const bars = data.steps.map(([from, to], index) => {
    const change = to > from ? theme.up : theme.down;
    const color = index === 0 || index === last ? theme.rest : change;
    return {
      value: [from, to, Math.min(from, to), Math.max(from, to)],
      itemStyle: { color, color0: color, borderColor: color, borderColor0: color },
    };
  });
  const isNarrow = width / data.labels.length < 56;
  const options = chartOptions({ ...data, kind: "bar" }, theme, context);
  return {
    ...options,
    xAxis: {
      ...options.xAxis,
      axisLabel: {
        color: theme.text,
        interval: 0,
        rotate: labelRotation(isNarrow, data.labels.length),
        fontSize: isNarrow ? 11 : 12,
        width: 110,
        overflow: "truncate",
      },
    },
    yAxis: {
      ...options.yAxis,
      scale: true,
      min: waterfallMinimum(data.steps) ?? ((range) => Math.min(0, range.min)),
    },
    // Candlesticks have their own animation duration, which takes precedence over that of the chart.
    series: [{ type: "candlestick", data: bars, barWidth: "60%", animationDuration: context.animationDuration }],
  };
}
