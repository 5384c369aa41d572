// What the view can ask again: other days, another grouping, a part of the cost. Pure.

export const GROUPINGS = ["service", "account", "region", "provider", "team", "usage_type", "source"];
export const PERIODS = {
  last_7_days: "Last 7 days",
  last_30_days: "Last 30 days",
  last_90_days: "Last 90 days",
  month_to_date: "Month to date",
  last_month: "Last month",
  last_12_months: "Last 12 months",
};

// Where a drill-down goes next; a dimension that is filtered already is passed over.
const DEEPER = ["provider", "service", "account", "region", "usage_type", "resource"];

const GROUPED = ["querySpend", "explainSpendChange", "forecastSpend"];
const OF_DAYS = ["querySpend", "explainSpendChange", "queryUnitCost"];

export function canGroup(tool) {
  return GROUPED.includes(tool);
}

export function canChangeDays(tool) {
  return OF_DAYS.includes(tool);
}

/** A change of spend has parts always: without a grouping the server takes services. */
export function canUngroup(tool) {
  return tool !== "explainSpendChange";
}

/** The first dimension of an answer, which the server chooses where the arguments name none; "" for a total. */
export function groupingOf(args, answer) {
  const names = answer?.group_by ?? args.group_by ?? [];
  const groups = typeof names === "string" ? [names] : names;
  return groups[0] ?? "";
}

/** The key in PERIODS of an answer's days; "" where they are none of those. */
export function periodOf(args, answer) {
  const name = answer?.period?.name ?? args.period;
  return name in PERIODS ? name : "";
}

export function withGrouping(args, dimension) {
  const rest = Object.fromEntries(Object.entries(args).filter(([name]) => name !== "group_by"));
  return dimension ? { ...rest, group_by: [dimension] } : rest;
}

/** The days that a person chose, in place of those that the assistant asked for. */
export function withPeriod(args, period) {
  const days = ["start_date", "end_date", "previous_start_date", "previous_end_date", "period"];
  const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !days.includes(name)));
  return { ...rest, period };
}

/** The part of the cost that a row is, by the next dimension down. */
export function drillDown(args, { dimension, value }) {
  const filters = [...(args.filters ?? []), { dimension, op: "in", values: [value] }];
  const used = new Set(filters.map((filter) => filter.dimension));
  const start = DEEPER.indexOf(dimension) + 1;
  const next = DEEPER.slice(start).find((name) => !used.has(name)) ?? DEEPER.find((name) => !used.has(name));
  return withGrouping({ ...args, filters }, next ?? "resource");
}

export function canDrill(tool, args, answer) {
  return canGroup(tool) && groupingOf(args, answer) !== "resource";
}
