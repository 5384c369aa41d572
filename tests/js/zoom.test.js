import assert from "node:assert/strict";
import { test } from "node:test";

import { zoomQuery } from "../../static/js/lib/zoom.js";

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
