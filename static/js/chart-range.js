// Selecting a range of buckets: by dragging over a chart or by pinching it. One finger scrolls the page.
import { pinchQuery, zoomQuery } from "./lib/zoom.js";

const MIN_DRAG_PX = 6;

/** Returns the bucket at a position of the chart, or -1 outside the plot. */
function bucketAt(chart, x, count) {
  const index = chart.convertFromPixel({ xAxisIndex: 0 }, x);
  return Number.isFinite(index) ? Math.min(Math.max(index, 0), count - 1) : -1;
}

/** Returns the positions of both fingers on the axis, from 0 to 1, left one first. */
function fingers(node, chart, touches, count) {
  const [left, right] = [0, count - 1].map((index) => chart.convertToPixel({ xAxisIndex: 0 }, index));
  const step = (right - left) / Math.max(count - 1, 1);
  const start = node.getBoundingClientRect().left + left - step / 2;
  return [...touches].map(({ clientX }) => (clientX - start) / (step * count)).sort((a, b) => a - b);
}

/** Calls `onRange` with the query string of the days that are visible after a pinch. */
export function pinchRange(node, chart, zoom, onRange) {
  let start = null;
  let end = null;
  node.addEventListener(
    "touchstart",
    ({ touches }) => {
      start = touches.length === 2 ? fingers(node, chart, touches, zoom.from.length) : null;
      end = null;
    },
    { passive: true },
  );
  node.addEventListener(
    "touchmove",
    (event) => {
      if (!start || event.touches.length !== 2) return;
      event.preventDefault();
      end = fingers(node, chart, event.touches, zoom.from.length);
    },
    { passive: false },
  );
  node.addEventListener("touchend", () => {
    const query = start && end && pinchQuery(zoom, start, end, new Date().toISOString().slice(0, 10));
    start = null;
    if (query) onRange(query);
  });
}

/** Calls `onRange` with the query string of the selected days. Returns whether the last press was a drag. */
export function selectRange(node, chart, zoom, onRange) {
  const shade = document.createElement("div");
  shade.className = "chart-range";
  let startX = null;
  let hasDragged = false;

  function x(event) {
    return event.clientX - node.getBoundingClientRect().left;
  }

  function end() {
    startX = null;
    shade.remove();
  }

  node.addEventListener("pointerdown", (event) => {
    hasDragged = false;
    if (event.button !== 0 || event.pointerType === "touch") return;
    if (chart.containPixel("grid", [x(event), event.clientY - node.getBoundingClientRect().top])) startX = x(event);
  });
  node.addEventListener("pointermove", (event) => {
    if (startX === null || (!hasDragged && Math.abs(x(event) - startX) < MIN_DRAG_PX)) return;
    if (!hasDragged) {
      hasDragged = true;
      node.setPointerCapture(event.pointerId);
      node.append(shade);
    }
    shade.style.left = `${Math.min(startX, x(event))}px`;
    shade.style.width = `${Math.abs(x(event) - startX)}px`;
  });
  node.addEventListener("pointerup", (event) => {
    const [from, to] = startX === null || !hasDragged ? [-1, -1] : [startX, x(event)].sort((a, b) => a - b);
    const count = zoom.from.length;
    end();
    if (to < 0) return;
    onRange(zoomQuery(zoom, bucketAt(chart, from, count), bucketAt(chart, to, count)));
  });
  node.addEventListener("pointercancel", end);
  return () => hasDragged;
}
