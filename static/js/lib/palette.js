// The colours of charts, in the light and the dark theme.

const LIGHT = [
  "#0f766e",
  "#2563eb",
  "#d97706",
  "#9333ea",
  "#db2777",
  "#65a30d",
  "#0891b2",
  "#dc2626",
  "#1e3a8a",
  "#78350f",
];
const DARK = [
  "#2dd4bf",
  "#60a5fa",
  "#fbbf24",
  "#c084fc",
  "#f472b6",
  "#a3e635",
  "#22d3ee",
  "#f87171",
  "#dbeafe",
  "#d8b08c",
];

/**
 * `limit`, `warning` and `forecast` are tones of a series, `up` and `down` the bars of a waterfall, `hatch` the lines
 * over incomplete buckets.
 */
export function chartTheme(isDark, font) {
  return {
    colors: isDark ? DARK : LIGHT,
    rest: isDark ? "#64748b" : "#94a3b8",
    limit: isDark ? "#f87171" : "#dc2626",
    warning: isDark ? "#fbbf24" : "#d97706",
    up: isDark ? "#f87171" : "#dc2626",
    down: isDark ? "#4ade80" : "#16a34a",
    forecast: isDark ? "rgba(148, 163, 184, 0.4)" : "rgba(100, 116, 139, 0.3)",
    hatch: isDark ? "rgba(38, 38, 38, 0.55)" : "rgba(255, 255, 255, 0.6)",
    text: isDark ? "#a1a8b3" : "#5f6875",
    line: isDark ? "rgba(148, 163, 184, 0.18)" : "rgba(100, 116, 139, 0.16)",
    surface: isDark ? "#262626" : "#ffffff",
    font,
  };
}

/** Assigns a series the same colour in all charts of a page, and the series of one chart different colours. */
export class ColorAssignment {
  #indexes = new Map();

  clear() {
    this.#indexes.clear();
  }

  /**
   * Returns a Map from the name of each series without an own colour to its index in `colors`.
   * A chart with one such series has the first colour.
   */
  assign(series) {
    const names = series.filter((item) => !item.rest && !item.tone).map((item) => item.name);
    if (names.length < 2) return new Map(names.map((name) => [name, 0]));
    const assigned = new Map();
    const isFree = (index) => ![...assigned.values()].includes(index);
    for (const name of names) {
      const index = this.#indexes.get(name);
      if (index !== undefined && isFree(index)) assigned.set(name, index);
    }
    for (const [position, name] of names.entries()) {
      if (assigned.has(name)) continue;
      const elsewhere = new Set(this.#indexes.values());
      const free = [...LIGHT.keys()].filter(isFree);
      assigned.set(name, free.find((index) => !elsewhere.has(index)) ?? free[0] ?? position % LIGHT.length);
      if (!this.#indexes.has(name)) this.#indexes.set(name, assigned.get(name));
    }
    return assigned;
  }
}
