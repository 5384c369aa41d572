import assert from "node:assert/strict";
import { test } from "node:test";

import { pinchQuery, zoomQuery } from "../../static/js/lib/zoom.js";

const MONTHS = {
  url: "?granularity=month&f0=tag%3Aenv&f0v=a&f0v=b",
  from: ["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"],
  to: ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"],
  byDay: 92,
};

test("a range asks for its days and keeps the rest of the question", () => {
  const query = new URLSearchParams(zoomQuery({ ...MONTHS, byDay: 0 }, 1, 2));
  assert.equal(query.get("start_date"), "2026-02-01");
  assert.equal(query.get("end_date"), "2026-03-31");
  assert.equal(query.get("granularity"), "month");
  assert.deepEqual(query.getAll("f0v"), ["a", "b"]);
});

test("few days are shown by day, many as before", () => {
  assert.equal(new URLSearchParams(zoomQuery(MONTHS, 0, 2)).get("granularity"), "day");
  assert.equal(new URLSearchParams(zoomQuery(MONTHS, 0, 3)).get("granularity"), "month");
});

const OCTOBER = {
  url: "?granularity=day",
  from: Array.from({ length: 10 }, (_, index) => `2026-10-${index + 11}`),
  to: Array.from({ length: 10 }, (_, index) => `2026-10-${index + 11}`),
  byDay: 0,
};

function days(start, end, today = "2026-11-23") {
  const query = new URLSearchParams(pinchQuery(OCTOBER, start, end, today));
  return [query.get("start_date"), query.get("end_date")];
}

test("fingers that part leave the days that were below them in sight", () => {
  assert.deepEqual(days([0.4, 0.6], [0, 1]), ["2026-10-15", "2026-10-16"]);
  assert.deepEqual(days([0.25, 0.75], [0, 1]), ["2026-10-14", "2026-10-18"]);
});

test("fingers that meet bring as many days on both sides into sight", () => {
  assert.deepEqual(days([0, 1], [0.25, 0.75]), ["2026-10-06", "2026-10-25"]);
});

test("days to come stay out of sight", () => {
  assert.deepEqual(days([0, 1], [0.25, 0.75], "2026-10-22"), ["2026-10-06", "2026-10-22"]);
  assert.deepEqual(days([0, 1], [0.25, 0.75], "2026-10-01"), ["2026-10-06", "2026-10-20"]);
});

test("fingers that stay ask for nothing, those that touch for four times the days at most", () => {
  assert.equal(pinchQuery(OCTOBER, [0.2, 0.8], [0.2, 0.8], "2026-11-23"), undefined);
  assert.deepEqual(days([0.25, 0.75], [0.5, 0.5]), ["2026-09-24", "2026-11-02"]);
});

test("more than a year is shown by month", () => {
  const year = { url: "?granularity=day", from: ["2026-01-01"], to: ["2026-12-31"], byDay: 0 };
  const query = new URLSearchParams(pinchQuery(year, [0, 1], [0.25, 0.75], "2027-11-23"));
  assert.equal(query.get("granularity"), "month");
});
