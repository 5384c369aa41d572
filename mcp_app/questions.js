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

export function groupingOf(args) {
  const groups = typeof args.group_by === "string" ? [args.group_by] : (args.group_by ?? []);
  return groups[0] ?? "";
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

export function canDrill(tool, args) {
  return canGroup(tool) && groupingOf(args) !== "resource";
}
