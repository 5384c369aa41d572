// Positions of the widgets of a dashboard: columns and rows from 0, sizes from 1, as in
// finops/dashboards/placement.py.

const COLUMNS = 12;
const MAX_HEIGHT = 20;
const STEPS = {
  left: { x: -1 },
  right: { x: 1 },
  up: { y: -1 },
  down: { y: 1 },
  narrower: { w: -1 },
  wider: { w: 1 },
  shorter: { h: -1 },
  taller: { h: 1 },
};

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/**
 * Returns the position after one step: `name` is left, right, up, down, narrower, wider, shorter or taller. The widget
 * stays on the dashboard.
 */
export function stepPlace({ x, y, w = 1, h = 1 }, name) {
  const step = { x: 0, y: 0, w: 0, h: 0, ...STEPS[name] };
  const width = clamp(w + step.w, 1, COLUMNS);
  return {
    x: clamp(x + step.x, 0, COLUMNS - width),
    y: Math.max(y + step.y, 0),
    w: width,
    h: clamp(h + step.h, 1, MAX_HEIGHT),
  };
}

/** Returns the position for screen readers: columns and rows count from 1. */
export function placeText(title, { x, y, w = 1, h = 1 }) {
  return `${title}: column ${x + 1}, row ${y + 1}, ${w} wide, ${h} high.`;
}

const KEYS = {
  ArrowLeft: ["left", "narrower"],
  ArrowRight: ["right", "wider"],
  ArrowUp: ["up", "shorter"],
  ArrowDown: ["down", "taller"],
};

/** Returns the step of an arrow key; with Shift it resizes. Undefined for other keys. */
export function stepOfKey(key, isResizing) {
  return KEYS[key]?.[isResizing ? 1 : 0];
}

export function sameLayout(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the layout to save, from Gridstack's nodes in the order of their ids: nodes omit a size of 1. */
export function layoutOf(nodes) {
  const places = nodes.map(({ el, x, y, w = 1, h = 1 }) => ({ id: Number(el.dataset.widget), x, y, w, h }));
  return places.sort((a, b) => a.id - b.id);
}
