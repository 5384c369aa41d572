// The query for a range of a chart's buckets.

const DAY_MS = 86_400_000;
const MAX_DAYS_BY_DAY = 366;
const MAX_PINCH = 4;

/**
 * Returns the query string of the days from the first to the last bucket (indexes). `zoom` is part of the chart's JSON:
 * `url` the query without days, `from` and `to` the days of each bucket, `byDay` the maximum number of days by day.
 */
export function zoomQuery(zoom, first, last) {
  return dayQuery(zoom, zoom.from[first], zoom.to[last]);
}

function dayQuery(zoom, from, to) {
  const query = new URLSearchParams(zoom.url);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  query.set("start_date", from);
  query.set("end_date", to);
  if (days <= zoom.byDay) query.set("granularity", "day");
  else if (days > MAX_DAYS_BY_DAY) query.set("granularity", "month");
  return `?${query}`;
}

function isoDay(ms) {
  return new Date(ms).toISOString().slice(0, 10);
}

/**
 * Returns the query string of the days that are visible after a pinch: the days below both fingers at `start` are below
 * them at `end`. Both are positions from 0 to 1 on the axis, left finger first. Moving them apart shows fewer days;
 * together more, before and after the range, up to `today` (ISO). Undefined if nothing changes.
 */
export function pinchQuery(zoom, start, end, today) {
  const count = zoom.from.length;
  const span = Math.min((start[1] - start[0]) / (end[1] - end[0]), MAX_PINCH);
  const left = start[0] - end[0] * span;
  if (!(span > 0)) return undefined;
  if (span > 1) {
    const [first, last] = [Date.parse(zoom.from[0]), Date.parse(zoom.to[count - 1])];
    const days = (last - first) / DAY_MS + 1;
    const from = isoDay(first + Math.round(Math.min(left, 0) * days) * DAY_MS);
    const to = isoDay(last + Math.round(Math.max(left + span - 1, 0) * days) * DAY_MS);
    const until = [to, [today, zoom.to[count - 1]].sort()[1]].sort()[0];
    return from === zoom.from[0] && until === zoom.to[count - 1] ? undefined : dayQuery(zoom, from, until);
  }
  const first = Math.min(Math.max(Math.round(left * count), 0), count - 1);
  const last = Math.max(Math.min(Math.round((left + span) * count), count) - 1, first);
  return first === 0 && last === count - 1 ? undefined : zoomQuery(zoom, first, last);
}
