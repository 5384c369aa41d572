"""Recent activity of a usage source, or of every source of an account: from the ledger, so of the last 35 days."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal

from django.db import connection

from accounts.models import Account
from finops.lake.queries import data_range
from finops.lake.schema import Kind
from finops.lib import clock
from finops.lib.formats import dates
from finops.lib.periods import DateRange
from ingestion.models import UsageSource
from ingestion.queries.usage_lake import usage_rows
from ingestion.remarks import Remarks

Step = Literal["hour", "day"]
STEPS: Final[dict[Step, tuple[timedelta, int]]] = {
    "hour": (timedelta(hours=1), 24),
    "day": (timedelta(days=1), 30),
}


@dataclass(frozen=True)
class ActivityBucket:
    """Events received in one hour or day (UTC), by outcome. `stored` has no duplicates and no voided events."""

    start: datetime
    stored: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class Activity:
    """Activity of a source. `last_event_at`: None without an event in the ledger. The error rate is of pushes: None
    without any."""

    last_event_at: datetime | None
    events_today: int
    accepted_24h: int
    rejected_24h: int
    buckets: list[ActivityBucket]

    @property
    def error_rate(self) -> float | None:
        """Share of rejected events in all events pushed in the last 24 hours, 0 to 1."""
        total = self.accepted_24h + self.rejected_24h
        return self.rejected_24h / total if total else None


_RECENT_COUNTS = """
SELECT (SELECT received_at FROM ingestion_usagebatch
         WHERE source_id = %(source)s AND accepted > 0 AND voided_at IS NULL ORDER BY received_at DESC LIMIT 1),
       coalesce(sum(accepted - duplicates) FILTER (WHERE received_at >= %(today)s AND voided_at IS NULL), 0),
       coalesce(sum(accepted) FILTER (WHERE origin = 'push'), 0),
       coalesce(sum(rejected) FILTER (WHERE origin = 'push'), 0)
  FROM ingestion_usagebatch WHERE source_id = %(source)s AND received_at > %(day_ago)s
"""

_BUCKETS = """
SELECT date_trunc(%(step)s, received_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',
       coalesce(sum(accepted - duplicates) FILTER (WHERE voided_at IS NULL), 0), sum(rejected)
  FROM ingestion_usagebatch WHERE source_id = %(source)s AND received_at >= %(since)s GROUP BY 1
"""


def source_activity(source: UsageSource, step: Step = "hour") -> Activity:
    """Return the activity of a source in the last 24 hours or 30 days. Two statements over that part of its ledger."""
    now = clock.now()
    width, count = STEPS[step]
    last = now.replace(minute=0, second=0, microsecond=0)
    last = last.replace(hour=0) if step == "day" else last
    starts = [last - width * back for back in reversed(range(count))]
    params: dict[str, Any] = {
        "source": source.pk,
        "today": datetime(now.year, now.month, now.day, tzinfo=UTC),
        "day_ago": now - timedelta(hours=24),
        "since": starts[0],
        "step": step,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RECENT_COUNTS, params)
        ((last_at, today, accepted, rejected),) = cursor.fetchall()
        cursor.execute(_BUCKETS, params)
        buckets_by_start = {
            start: ActivityBucket(start, int(stored), int(refused))
            for start, stored, refused in cursor.fetchall()
        }
    return Activity(
        last_at,
        int(today),
        int(accepted),
        int(rejected),
        [buckets_by_start.get(start, ActivityBucket(start)) for start in starts],
    )


def count_live_events(source: UsageSource) -> int:
    """Return the number of the source's counted events of all days, which are deleted with it. One statement."""
    stored_range = data_range(source.account, Kind.USAGE)
    return (
        sum(each.rows for each in stored_range.sources if each.source_id == source.pk) if stored_range else 0
    )


REMARK_DAYS: Final = 7
REMARK_BATCHES: Final = 1_000
# Only batches with remarks are read, by their index.
_REMARKS: Final = """
WITH newest AS (
    SELECT source.id, batch.unlikely_times, batch.ignored_fields FROM ingestion_usagesource AS source, LATERAL (
        SELECT unlikely_times, ignored_fields FROM ingestion_usagebatch
        WHERE source_id = source.id AND (unlikely_times > 0 OR ignored_fields IS NOT NULL)
        AND voided_at IS NULL AND received_at > %(since)s ORDER BY received_at DESC LIMIT %(batches)s
    ) AS batch WHERE source.account_id = %(account)s AND source.id = coalesce(%(source)s, source.id)
), fields AS (
    SELECT id, key, sum(value::bigint) AS times FROM newest, jsonb_each_text(ignored_fields) GROUP BY id, key
)
SELECT id, sum(unlikely_times), (SELECT json_object_agg(key, times ORDER BY times DESC, key)::text FROM fields WHERE id = newest.id)
FROM newest GROUP BY id
"""


def source_remarks(account_id: int, source: UsageSource | None = None) -> dict[int, Remarks]:
    """Return the remarks on the newest 1,000 batches with remarks of each source, or of one, in the last seven days. One
    statement."""
    params: dict[str, Any] = {
        "account": account_id,
        "source": source and source.pk,
        "since": clock.now() - timedelta(days=REMARK_DAYS),
        "batches": REMARK_BATCHES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REMARKS, params)
        rows = [(pk, int(times), json.loads(fields or "{}")) for pk, times, fields in cursor.fetchall()]
    return {pk: Remarks(times, sum(fields.values()), fields) for pk, times, fields in rows}


UNITS_DAYS: Final = 35


def mixed_units(source: UsageSource) -> dict[str, list[str]]:
    """Return metrics for which a source sent more than one unit for days of the last 35, with the units; their
    quantities are added.

    One lake query. Raises UserError when the lake cannot answer.
    """
    today = clock.today()
    days = DateRange(today - timedelta(days=UNITS_DAYS), today)
    units: dict[str, list[str]] = {}
    for row in usage_rows(source.account, days, _UnitsOf(str(source.pk))):
        units.setdefault(row["metric"], []).append(row["unit"])
    return {metric: sorted(unit_names) for metric, unit_names in sorted(units.items()) if len(unit_names) > 1}


@dataclass(frozen=True)
class _UnitsOf:
    """Metrics and units that a source sent."""

    source: str

    def __call__(self, table: Any) -> Any:
        source_events = table.filter((table.source == self.source) & table.unit.notnull())
        return source_events.group_by(["metric", "unit"]).aggregate(last=source_events.day.max())


def activity_chart(activity: Activity, step: Step) -> dict[str, Any]:
    """Return the chart for `charts.js`."""
    starts = [bucket.start for bucket in activity.buckets]
    by_hour = step == "hour"
    return {
        "kind": "bar",
        "stacked": True,
        "currency": "events",
        "places": 0,
        "labels": [f"{start:{'%H:00' if by_hour else '%Y-%m-%d'}}" for start in starts],
        "texts": [dates.clock_time(start) if by_hour else dates.day(start.date()) for start in starts],
        "series": [
            {"name": "Stored", "values": [bucket.stored for bucket in activity.buckets], "rest": False},
            {"name": "Rejected", "values": [bucket.rejected for bucket in activity.buckets], "rest": True},
        ],
    }


# One index probe for each source and day, and the newest batches only: at its full limit an account writes 1.4 million
# batches a day.
_SOURCES: Final = """
SELECT source.id, source.name, source.kind, living.source_id IS NOT NULL, (
    SELECT received_at FROM ingestion_usagebatch WHERE source_id = source.id AND accepted > 0 AND voided_at IS NULL
    ORDER BY received_at DESC LIMIT 1
), array(
    SELECT day::date FROM generate_series(%(since)s::date, %(today)s::date, interval '1 day') AS day
    WHERE EXISTS (
        SELECT FROM ingestion_usagebatch WHERE source_id = source.id AND accepted > 0
        AND received_at >= day AT TIME ZONE 'UTC' AND received_at < (day + interval '1 day') AT TIME ZONE 'UTC'
    )
), lately.accepted, lately.rejected
FROM ingestion_usagesource AS source
LEFT JOIN ingestion_usagekey AS living ON living.source_id = source.id AND living.revoked_at IS NULL
CROSS JOIN LATERAL (
    SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(rejected), 0) AS rejected FROM (
        SELECT accepted, rejected FROM ingestion_usagebatch
        WHERE source_id = source.id AND received_at > %(day_ago)s ORDER BY received_at DESC LIMIT %(batches)s
    ) AS newest
) AS lately
WHERE source.account_id = %(account)s ORDER BY source.name
"""
BATCHES: Final = 1_000
LEDGER_DAYS: Final = 35


@dataclass(frozen=True)
class UsageDeliveries:
    """Recent deliveries of a usage source: `days` (UTC) with accepted events, and the events of its newest thousand
    batches of the last 24 hours."""

    source_id: int
    name: str
    kind: str
    has_key: bool
    last_event_at: datetime | None
    days: tuple[date, ...]
    accepted: int
    rejected: int

    @property
    def lacks_key(self) -> bool:
        """Whether a push source has no key, so that nothing can be pushed. A pull source needs none."""
        return self.kind == UsageSource.Kind.PUSH and not self.has_key


def usage_deliveries(account: Account) -> list[UsageDeliveries]:
    """Return the deliveries of every usage source by name. One statement: 36 index probes and up to 1,000 rows for
    each source."""
    now = clock.now()
    params: dict[str, Any] = {
        "account": account.pk,
        "day_ago": now - timedelta(hours=24),
        "since": now.date() - timedelta(days=LEDGER_DAYS),
        "today": now.date(),
        "batches": BATCHES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, params)
        return [
            UsageDeliveries(pk, name, kind, has_key, last, tuple(sorted(days)), int(accepted), int(rejected))
            for pk, name, kind, has_key, last, days, accepted, rejected in cursor.fetchall()
        ]
