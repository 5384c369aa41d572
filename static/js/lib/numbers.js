// Numbers in the formats of pages. The server provides the symbols (finops/lib/formats/numbers.py, by CLDR), since
// browsers lack the formats of many regions. Both sides have the same rules: tests/finops/lib/test_formats.py compares.

const MINUS = "\u2212";
const SMALL_DIGITS = 3;
const HEADLINE_FROM = 10_000;

let symbols = {
  decimal: ".",
  group: ",",
  grouping: [3, 3],
  compact: [
    [12, "T"],
    [9, "B"],
    [6, "M"],
    [3, "K"],
  ],
  percent: ["", "%"],
};

/** The reader's symbols, in the form of the server's `browser_symbols`. */
export function setSymbols(own) {
  symbols = own;
}

function grouped(whole) {
  const [primary, secondary] = symbols.grouping;
  const parts = [whole.slice(-primary)];
  let rest = whole.slice(0, -primary);
  while (rest) {
    parts.unshift(rest.slice(-secondary));
    rest = rest.slice(0, -secondary);
  }
  return parts.join(symbols.group);
}

/** Returns a number without its sign, rounded to `places` decimals, with at least `atLeast` decimals. */
function plain(size, atLeast, places) {
  const rounded = new Intl.NumberFormat("en", {
    useGrouping: false,
    minimumFractionDigits: atLeast,
    maximumFractionDigits: Math.min(20, places),
  }).format(size);
  const [whole, decimals] = rounded.split(".");
  return decimals ? `${grouped(whole)}${symbols.decimal}${decimals}` : grouped(whole);
}

function significant(size, digits, atLeast) {
  const exponent = Number(size.toExponential().split("e")[1]);
  return plain(size, atLeast, Math.max(atLeast, digits - 1 - exponent));
}

/** Puts the minus sign before everything else, except before a number that is displayed as zero. */
function around(text, prefix, suffix, value) {
  return `${value < 0 && /[1-9]/.test(text) ? MINUS : ""}${prefix}${text}${suffix}`;
}

function short(size) {
  const steps = [[0, ""], ...symbols.compact.toReversed()];
  let [power, suffix] = steps.findLast(([each]) => each === 0 || size >= 10 ** each);
  const larger = steps.find(([each]) => each > power);
  // 999,960 is 1M and not 1,000K.
  const rounded = Math.round((size / 10 ** power) * 10) / 10;
  if (larger && rounded >= 10 ** (larger[0] - power)) [power, suffix] = larger;
  return `${plain(size / 10 ** power, 0, 1)}${suffix}`;
}

/** Returns a full amount. `unit` has its symbols and decimals; a smaller amount keeps three digits. */
export function formatMoney(value, unit) {
  const size = Math.abs(value);
  const isSmall = size > 0 && size < 10 ** -unit.digits;
  const text = isSmall ? significant(size, SMALL_DIGITS, 0) : plain(size, unit.digits, unit.digits);
  return around(text, unit.prefix, unit.suffix, value);
}

/** Returns an amount of a tile, `$196.1K`; below 10,000 the full amount. */
export function formatHeadline(value, unit) {
  if (Math.abs(value) < HEADLINE_FROM) return formatMoney(value, unit);
  return around(short(Math.abs(value)), unit.prefix, unit.suffix, value);
}

/** Returns a quantity with at most `places` decimals; a smaller quantity keeps three digits. */
export function formatNumber(value, places = 6) {
  const size = Math.abs(value);
  const isSmall = size > 0 && size < 10 ** -places;
  return around(isSmall ? significant(size, SMALL_DIGITS, 0) : plain(size, 0, places), "", "", value);
}

/** Returns `4.4M`; below 10,000 at most two decimals. */
export function formatCompact(value) {
  if (Math.abs(value) < HEADLINE_FROM) return formatNumber(value, 2);
  return around(short(Math.abs(value)), "", "", value);
}

/** Returns `32.3%` for 0.3233. */
export function formatPercent(ratio) {
  const value = ratio * 100;
  const size = Math.abs(value);
  if (size > 0 && size < 0.05) return `${value > 0 ? "<" : ">"}${percentText(0.1, value)}`;
  if (size >= 99.95 && size < 100) return `${value > 0 ? ">" : "<"}${percentText(99.9, value)}`;
  return percentText(size, value);
}

function percentText(size, value) {
  return around(plain(size, 0, 1), ...symbols.percent, value);
}

/** Returns `+4.2%`; `0%` for changes below a tenth of a percent. */
export function formatChange(ratio) {
  const value = Math.abs(ratio) < 0.0005 ? 0 : ratio;
  return value > 0 ? `+${percentText(value * 100, value)}` : formatPercent(value);
}

/** Returns the label of an axis: `12.3K` for 12,345, `$12.3K` for an amount. */
export function formatAxisValue(value, { prefix = "", suffix = "" } = {}) {
  const size = Math.abs(value);
  if (size > 0 && size < 1) return around(significant(size, SMALL_DIGITS, 0), prefix, suffix, value);
  return around(size < 1000 ? plain(size, 0, 2) : short(size), prefix, suffix, value);
}

/** 1 MB is a million bytes. */
export function formatMegabytes(bytes) {
  return `${plain(bytes / 1e6, 0, 1)} MB`;
}
