// The question of a range of a chart's buckets.

const DAY_MS = 86_400_000;

/**
 * The query string of the days from the first to the last bucket (indexes). `zoom` is of the chart's JSON: `url` the
 * question without days, `from` and `to` the days of each bucket, `byDay` up to how many days are shown by day.
 */
export function zoomQuery(zoom, first, last) {
  const query = new URLSearchParams(zoom.url);
  const [from, to] = [zoom.from[first], zoom.to[last]];
  query.set("start_date", from);
  query.set("end_date", to);
  if ((Date.parse(to) - Date.parse(from)) / DAY_MS < zoom.byDay) query.set("granularity", "day");
  return `?${query}`;
}
