// Numbers as pages write them: English, as the server does (finops/lib/amounts.py).

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const significant = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** An amount with two decimals, or three significant digits below a cent; a quantity with at most `places` decimals. */
export function formatValue(value, places) {
  if (places !== undefined) return new Intl.NumberFormat("en", { maximumFractionDigits: places }).format(value);
  return (value !== 0 && Math.abs(value) < 0.01 ? significant : cents).format(value);
}

/** The label of an axis: 12,345 is `12.3K`. */
export function formatAxisValue(value) {
  return (Math.abs(value) < 1 ? significant : compact).format(value);
}

/** 1 MB is a million bytes. */
export function formatMegabytes(bytes) {
  return `${tenths.format(bytes / 1e6)} MB`;
}
