// What each tool's answer shows: one figure a currency, with its chart, table and headline. Pure.
//
// figure: { currency, label, value, note, chart, columns, rows }
// chart: { kind: "bars" | "stack" | "range" | "progress", … } as chart.js draws it
// row: { cells: [text], filter: {dimension, value} | undefined, name }

import { change, day, money, number, percent, range, signedMoney } from "./formats.js";

const MAX_STACKS = 6;

// A field that the answers of one tool alone have.
const FIELD_OF_TOOL = {
  queryUnitCost: "usage_metric",
  explainSpendChange: "moves",
  forecastSpend: "band_share",
  listBudgets: "budgets",
  listAnomalies: "anomalies",
  getDashboard: "dashboard",
  querySpend: "granularity",
};

/** The tool of an answer, for hosts that do not name it; "" for another's. */
export function toolOf(answer) {
  const [tool] = Object.entries(FIELD_OF_TOOL).find(([, field]) => field in answer) ?? [""];
  return tool;
}

/** The figures of an answer, the currency with the largest amount first. */
export function figuresOf(tool, answer) {
  return (BY_TOOL[tool] ?? (() => []))(answer);
}

/** The days of an answer, for its subtitle. */
export function daysOf(answer) {
  const days = answer.period ?? answer.days;
  return days?.start_date ? range(days.start_date, days.end_date) : "";
}

export function groupName(row) {
  const names = Object.entries(row.group ?? {}).map(([dimension, value]) => row.labels?.[dimension] ?? value);
  return names.join(" · ") || "Total";
}

/** What a click on a row narrows by: its first dimension, unless it is the sum of what is not listed. */
function filterOf(row) {
  const [entry] = Object.entries(row.group ?? {});
  if (!entry || row.other_groups || entry[1].startsWith("(")) return undefined;
  return { dimension: entry[0], value: entry[1] };
}

function byCurrency(rows, currency) {
  return rows.filter((row) => row.currency === currency);
}

function spend(answer) {
  return answer.totals.map((total) => {
    const rows = byCurrency(answer.rows ?? [], total.currency);
    const hasChange = rows.some((row) => row.change);
    return {
      currency: total.currency,
      label: "Spend",
      value: money(total.amount, total.currency),
      note: total.change ? `${change(total.change.ratio)} vs. previous period` : "",
      chart: spendChart(answer, total, rows),
      columns: [
        rows.length ? title(answer.group_by.join(", ")) : "",
        "Amount",
        "Share",
        ...(hasChange ? ["Change"] : []),
      ],
      rows: rows.map((row) => ({
        name: groupName(row),
        filter: filterOf(row),
        cells: [money(row.amount, row.currency), percent(row.share), ...(hasChange ? [change(row.change?.ratio)] : [])],
      })),
    };
  });
}

function spendChart(answer, total, rows) {
  const rowsWithDays = rows.filter((row) => row.series);
  const series = rowsWithDays.length ? rowsWithDays : total.series ? [total] : [];
  if (series.length) return stack(series, answer);
  const bars = rows.map((row) => ({ name: groupName(row), value: row.amount, filter: filterOf(row) }));
  return bars.length ? { kind: "bars", currency: total.currency, bars } : undefined;
}

function stack(rows, answer) {
  const buckets = Object.keys(rows[0].series.amounts);
  const names = rows.slice(0, MAX_STACKS).map((row) => ({
    name: row.group ? groupName(row) : "Total",
    filter: filterOf(row),
    values: buckets.map((bucket) => row.series.amounts[bucket]),
  }));
  const rest = rows.slice(MAX_STACKS);
  if (rest.length) {
    const sums = buckets.map((bucket) => exactSum(rest.map((row) => row.series.amounts[bucket])));
    names.push({ name: "Other", rest: true, values: sums });
  }
  return {
    kind: "stack",
    currency: rows[0].currency,
    buckets,
    labels: buckets.map((bucket) => bucketLabel(bucket, answer.granularity)),
    // Days after it are still being filled by bills.
    incompleteFrom: answer.granularity === "day" ? buckets.findIndex((bucket) => bucket > answer.data_through) : -1,
    series: names,
  };
}

/** Of the heights of bars only: six decimals are what a tool's answer has, so the sum is theirs again. */
function exactSum(values) {
  return values.reduce((sum, value) => sum + Math.round((value ?? 0) * 1e6), 0) / 1e6;
}

/** Answers of months have their first days. */
function granularityOf(days) {
  return days.length > 1 && days.every((each) => each.endsWith("-01")) ? "month" : "day";
}

function bucketLabel(bucket, granularity) {
  return granularity === "month" ? day(bucket, { month: "short", year: "2-digit" }) : day(bucket);
}

function spendChange(answer) {
  return answer.totals.map((total) => {
    const moves = byCurrency(answer.moves, total.currency);
    return {
      currency: total.currency,
      label: "Change in spend",
      value: signedMoney(total.change, total.currency),
      note: [
        `${change(total.ratio)}:`,
        money(total.previous_amount, total.currency),
        "→",
        money(total.current_amount, total.currency),
      ].join(" "),
      chart: {
        kind: "bars",
        currency: total.currency,
        isChange: true,
        bars: moves.map((move) => ({ name: groupName(move), value: move.change, filter: filterOf(move) })),
      },
      columns: [groupTitle(answer), "Change", "Before", "Now", "Why"],
      rows: moves.map((move) => ({
        name: groupName(move),
        filter: filterOf(move),
        cells: [
          signedMoney(move.change, move.currency),
          money(move.previous_amount, move.currency),
          money(move.current_amount, move.currency),
          move.why ?? "",
        ],
      })),
    };
  });
}

function forecast(answer) {
  return answer.totals.map((total) => {
    const rows = byCurrency(answer.rows ?? [], total.currency);
    return {
      currency: total.currency,
      label: "Forecast",
      value: money(total.expected, total.currency),
      note: `80% range ${money(total.lower, total.currency)} to ${money(total.upper, total.currency)}`,
      chart: total.series
        ? rangeChart(total)
        : {
            kind: "progress",
            bars: [forecastBar(total, "Forecast"), ...rows.map((row) => forecastBar(row, groupName(row)))],
          },
      columns: [groupTitle(answer), "Forecast", "Spent", "80% range"],
      rows: (rows.length ? rows : [total]).map((row) => ({
        name: groupName(row),
        filter: filterOf(row),
        cells: [
          money(row.expected, row.currency),
          money(row.actual, row.currency),
          `${money(row.lower, row.currency)} – ${money(row.upper, row.currency)}`,
        ],
      })),
    };
  });
}

function forecastBar(row, name) {
  return { name, currency: row.currency, value: row.actual, until: row.expected, filter: filterOf(row) };
}

function rangeChart(total) {
  const buckets = Object.keys(total.series.amounts);
  const of = (series) => buckets.map((bucket) => series?.amounts[bucket] ?? null);
  return {
    kind: "range",
    currency: total.currency,
    labels: buckets.map((bucket) => bucketLabel(bucket, granularityOf(buckets))),
    values: of(total.series),
    lower: of(total.lower_series),
    upper: of(total.upper_series),
  };
}

function unitCost(answer) {
  const unit = `${answer.per > 1 ? `${number(answer.per)} × ` : ""}${answer.unit ?? answer.usage_metric}`;
  return answer.totals.map((total) => {
    const rows = unitCostRows(answer, total);
    const values = rows.filter((row) => row.value !== null);
    const isTrend = Boolean(total.buckets?.length);
    return {
      currency: total.currency,
      label: `Cost per ${unit}`,
      value: money(total.unit_cost, total.currency),
      note: total.reason || `${money(total.cost, total.currency)} ÷ ${number(total.usage)}`,
      chart: isTrend
        ? trend(rows, total.currency)
        : values.length
          ? { kind: "bars", currency: total.currency, bars: values }
          : undefined,
      columns: [isTrend ? "Days" : "Customer", `Per ${unit}`, "Cost", "Usage"],
      rows: rows.map((row) => ({ name: row.name, cells: row.cells })),
    };
  });
}

function unitCostRows(answer, total) {
  const of = (row, name) => ({
    name,
    value: row.unit_cost,
    cells: [money(row.unit_cost, total.currency), money(row.cost, total.currency), number(row.usage)],
  });
  if (total.buckets?.length) {
    const granularity = granularityOf(total.buckets.map((bucket) => bucket.start_date));
    return total.buckets.map((row) => of(row, bucketLabel(row.start_date, granularity)));
  }
  return byCurrency(answer.rows ?? [], total.currency).map((row) => of(row, customerName(row)));
}

function trend(rows, currency) {
  return { kind: "range", currency, labels: rows.map((row) => row.name), values: rows.map((row) => row.value) };
}

function customerName(row) {
  if (row.other_rows) return `Other (${number(row.other_rows)})`;
  return row.name || row.customer_id || "No customer";
}

const STATUS = { exceeded: "Exceeded", warning: "Warning", ok: "OK" };

function budgets(answer) {
  const rows = answer.budgets;
  const atRisk = rows.filter((budget) => budget.status !== "ok").length;
  return [
    {
      currency: "",
      // Of a page of a longer list the figure is the page's.
      label: answer.cursor ? "Budgets at risk, of those listed" : "Budgets at risk",
      value: `${number(atRisk)} of ${number(rows.length)}`,
      note: "",
      chart: {
        kind: "progress",
        bars: rows.map((budget) => ({
          name: budget.name,
          currency: budget.currency,
          value: budget.spent,
          until: budget.forecast ?? budget.spent,
          limit: budget.amount,
          tone: budget.status,
          label: `${STATUS[budget.status]}: ${percent((budget.spent_percent ?? 0) / 100)}`,
        })),
      },
      columns: ["Budget", "Status", "Spent", "Forecast", "Amount"],
      rows: rows.map((budget) => ({
        name: budget.name,
        cells: [
          STATUS[budget.status],
          money(budget.spent, budget.currency),
          money(budget.forecast, budget.currency),
          money(budget.amount, budget.currency),
        ],
      })),
    },
  ].filter(() => rows.length);
}

function anomalies(answer) {
  const currencies = [...new Set(answer.anomalies.map((anomaly) => anomaly.currency))];
  return currencies.map((currency) => {
    const rows = byCurrency(answer.anomalies, currency);
    return {
      currency,
      label: answer.cursor ? "Anomalies listed" : "Anomalies",
      value: number(rows.length),
      note: "by impact against what was expected",
      chart: {
        kind: "bars",
        currency,
        isChange: true,
        bars: rows.map((row) => ({ name: row.title ?? row.value, value: row.impact })),
      },
      columns: ["Anomaly", "Impact", "Actual", "Expected", "Days"],
      rows: rows.map((row) => ({
        name: `${row.title ?? row.value} · ${row.source}`,
        cells: [
          signedMoney(row.impact, currency),
          money(row.actual, currency),
          money(row.expected, currency),
          `${range(row.first_day, row.last_day)}${row.ongoing ? ", ongoing" : ""}`,
        ],
      })),
    };
  });
}

function dashboard(answer) {
  const { name } = answer.dashboard;
  const widgets = answer.dashboard.widgets.map((widget) => ({ ...widget, title: widget.title || title(widget.type) }));
  return [
    {
      currency: "",
      label: name,
      value: `${number(widgets.length)} widgets`,
      note: "Figures are on its page.",
      chart: { kind: "board", widgets },
      columns: ["Widget", "Type"],
      rows: widgets.map((widget) => ({ name: widget.title, cells: [title(widget.type)] })),
    },
  ];
}

function groupTitle(answer) {
  return title(answer.group_by.join(", ")) || "Total";
}

export function title(name) {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const BY_TOOL = {
  querySpend: spend,
  explainSpendChange: spendChange,
  forecastSpend: forecast,
  queryUnitCost: unitCost,
  listBudgets: budgets,
  listAnomalies: anomalies,
  getDashboard: dashboard,
};
