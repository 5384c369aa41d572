// Amounts, shares and days in the locale of the host.

let locale;

export function setLocale(name) {
  try {
    locale = Intl.getCanonicalLocales(name ?? [])[0];
  } catch {
    locale = undefined;
  }
}

function currencyFormat(currency, options) {
  try {
    return new Intl.NumberFormat(locale, { style: "currency", currency, ...options });
  } catch {
    // A bill may name a currency that is none of ISO 4217.
    const format = new Intl.NumberFormat(locale, options);
    return { format: (value) => `${format.format(value)} ${currency}` };
  }
}

export function money(value, currency) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const digits = size > 0 && size < 0.01 ? { maximumSignificantDigits: 3 } : {};
  return currencyFormat(currency, digits).format(value);
}

/** For the steps of an axis: `$500`, `$196.1K`. */
export function shortMoney(value, currency) {
  return currencyFormat(currency, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** For one bar: `$154.46`, from a thousand on `$196.1K`. */
export function barMoney(value, currency) {
  return Math.abs(value) < 1000 ? money(value, currency) : shortMoney(value, currency);
}

export function number(value) {
  if (value === null || value === undefined) return "–";
  return new Intl.NumberFormat(locale, { maximumFractionDigits: 6 }).format(value);
}

/** `32.3%`; a share that would be rounded to nothing is `<0.1%`, one that would be rounded to all `>99.9%`. */
export function percent(ratio) {
  if (ratio === null || ratio === undefined) return "–";
  const size = Math.abs(ratio);
  if (size > 0 && size < 0.0005) return `${ratio > 0 ? "<" : ">"}${shownPercent(Math.sign(ratio) * 0.001)}`;
  if (size >= 0.9995 && size < 1) return `${ratio > 0 ? ">" : "<"}${shownPercent(Math.sign(ratio) * 0.999)}`;
  return shownPercent(ratio);
}

function shownPercent(ratio) {
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 }).format(ratio);
}

export function change(ratio) {
  if (ratio === null || ratio === undefined) return "–";
  const format = { style: "percent", maximumFractionDigits: 1, signDisplay: "exceptZero" };
  return new Intl.NumberFormat(locale, format).format(ratio);
}

export function signedMoney(value, currency) {
  if (value === null || value === undefined) return "–";
  return currencyFormat(currency, { signDisplay: "exceptZero" }).format(value);
}

/** Days are UTC: a reader's own zone would move them. */
export function day(text, options = { day: "numeric", month: "short" }) {
  return new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options }).format(new Date(`${text}T00:00:00Z`));
}

export function range(start, end) {
  const format = new Intl.DateTimeFormat(locale, { timeZone: "UTC", dateStyle: "medium" });
  return format.formatRange(new Date(`${start}T00:00:00Z`), new Date(`${end}T00:00:00Z`));
}
