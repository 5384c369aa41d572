// Change events on charts: switches that hide kinds of events, and the list that a click on a marker opens.
import { rowsOfBucket, visibleMarkers } from "./lib/chart-options.js";

// The choice is stored in the browser. The list beside the chart has all events.
const MARKERS_HIDDEN = "console:markers-hidden";
const HIDDEN_KINDS = "console:marker-kinds-hidden";
const SWITCHES = "[data-chart-markers], [data-marker-kind]";

function areHidden() {
  return Boolean(localStorage.getItem(MARKERS_HIDDEN));
}

function hiddenKinds() {
  return JSON.parse(localStorage.getItem(HIDDEN_KINDS) ?? "[]");
}

/** Returns the chart's data with the markers that the switches show. */
export function withVisibleMarkers(data) {
  if (!data.markers) return data;
  return { ...data, markers: areHidden() ? undefined : visibleMarkers(data.markers, hiddenKinds()) };
}

function showSwitches() {
  const isHidden = areHidden();
  const kinds = hiddenKinds();
  for (const input of document.querySelectorAll("[data-chart-markers]")) input.checked = !isHidden;
  for (const input of document.querySelectorAll("[data-marker-kind]")) {
    input.checked = !kinds.includes(input.dataset.markerKind);
    input.disabled = isHidden;
  }
  // Markers of charts that the server drew.
  for (const mark of document.querySelectorAll("[data-mark-kinds]")) {
    const isEmpty = JSON.parse(mark.dataset.markKinds).every((kind) => kinds.includes(kind));
    mark.classList.toggle("d-none", isHidden || isEmpty);
  }
}

function storeSwitch(input) {
  const kind = input.dataset.markerKind;
  if (kind) {
    const others = hiddenKinds().filter((each) => each !== kind);
    localStorage.setItem(HIDDEN_KINDS, JSON.stringify(input.checked ? others : [...others, kind]));
  } else if (input.checked) localStorage.removeItem(MARKERS_HIDDEN);
  else localStorage.setItem(MARKERS_HIDDEN, "1");
}

/** Calls `redraw` after a switch has changed. */
export function onMarkerSwitch(redraw) {
  document.addEventListener("change", ({ target }) => {
    if (target.matches?.(SWITCHES)) redraw();
  });
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches?.(SWITCHES)) return;
  storeSwitch(target);
  showSwitches();
});

/** Returns the list in the chart's own card, or else the first list of the page. */
function listOf(node) {
  const selector = "[data-marker-list]";
  return node.closest(".card, .grid-stack-item")?.querySelector(selector) ?? document.querySelector(selector);
}

function openList(list, labels, label) {
  const rows = [...list.querySelectorAll("[data-marker-day]")];
  const days = rows.map((row) => row.dataset.markerDay);
  const places = rowsOfBucket(days, labels, label);
  rows.forEach((row, place) => row.classList.toggle("table-active", places.includes(place)));
  list.open = true;
  const first = rows[places[0]];
  if (!first) return;
  first.tabIndex = -1;
  first.focus({ preventScroll: true });
  first.scrollIntoView({ block: "center" });
}

const REACH = 12;

/** Opens the list after a click on a marker of a drawn chart, the small triangle above the plot. */
export function openMarkers(node, chart, currentData) {
  const list = () => listOf(node);
  const labelAt = ({ offsetX, offsetY }) => {
    const { markers, currency } = currentData();
    if (!markers || offsetY > (currency ? 32 : 16) + REACH / 2 || !list()) return undefined;
    return markers.find(({ label }) => {
      return Math.abs(chart.convertToPixel({ xAxisIndex: 0 }, label) - offsetX) < REACH;
    })?.label;
  };
  const renderer = chart.getZr();
  renderer.on("click", (event) => {
    const label = labelAt(event);
    if (label) openList(list(), currentData().labels, label);
  });
  renderer.on("mousemove", (event) => {
    if (labelAt(event)) renderer.setCursorStyle("pointer");
  });
}

document.addEventListener("click", ({ target }) => {
  const mark = target.closest?.("[data-mark-label]");
  const list = mark && listOf(mark);
  if (list) openList(list, [mark.dataset.markLabel], mark.dataset.markLabel);
});

document.addEventListener("DOMContentLoaded", showSwitches);
document.addEventListener("htmx:afterSettle", showSwitches);
