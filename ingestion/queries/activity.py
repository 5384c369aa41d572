"""What a usage source has received lately, as its page shows it: from the ledger, so of the last 35 days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from django.db import connection

from finops.lake.engine import engine
from finops.lake.queries import data_range
from finops.lake.schema import Kind
from finops.lib import clock
from ingestion.models import UsageSource

Step = Literal["hour", "day"]
STEPS: Final[dict[Step, tuple[timedelta, int]]] = {
    "hour": (timedelta(hours=1), 24),
    "day": (timedelta(days=1), 30),
}


@dataclass(frozen=True)
class Bucket:
    """Events received in one hour or day (UTC), by where they ended. `stored` has no duplicates and no voided ones."""

    start: datetime
    stored: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class Activity:
    """`last_event_at`: None without an event that the ledger still has. The error rate is of pushes: None without any."""

    last_event_at: datetime | None
    events_today: int
    accepted_24h: int
    rejected_24h: int
    buckets: list[Bucket]

    @property
    def error_rate(self) -> float | None:
        """Rejected of all events pushed in the last 24 hours, 0 to 1."""
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
    """What a source received, in the 24 hours or 30 days to now. Two statements over that part of its ledger."""
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
            start: Bucket(start, int(stored), int(refused)) for start, stored, refused in cursor.fetchall()
        }
    return Activity(
        last_at,
        int(today),
        int(accepted),
        int(rejected),
        [buckets_by_start.get(start, Bucket(start)) for start in starts],
    )


def count_live_events(source: UsageSource) -> int:
    """How many of its events count in answers now, of any day: what goes with it. One statement."""
    stored_range = data_range(source.account, Kind.USAGE)
    return sum(one.rows for one in stored_range.sources if one.source_id == source.pk) if stored_range else 0


UNITS_DAYS: Final = 35


def mixed_units(source: UsageSource) -> dict[str, list[str]]:
    """Metrics of which a source sent more than one unit for days of the last 35, with the units; they add up as one.

    One lake query. Raises UserError when the lake cannot answer.
    """
    today = clock.today()
    days = (today - timedelta(days=UNITS_DAYS), today)
    table = engine.run(source.account, Kind.USAGE, *days, _UnitsOf(str(source.pk)))
    units: dict[str, list[str]] = {}
    for row in table.to_pylist():
        units.setdefault(row["metric"], []).append(row["unit"])
    return {metric: sorted(unit_names) for metric, unit_names in sorted(units.items()) if len(unit_names) > 1}


@dataclass(frozen=True)
class _UnitsOf:
    """Each metric and unit that a source sent."""

    source: str

    def __call__(self, table: Any) -> Any:
        source_events = table.filter((table.source == self.source) & table.unit.notnull())
        return source_events.group_by(["metric", "unit"]).aggregate(last=source_events.day.max())


def activity_chart(activity: Activity, step: Step) -> dict[str, Any]:
    """What `charts.js` draws of it."""
    form = "%H:00" if step == "hour" else "%Y-%m-%d"
    return {
        "kind": "bar",
        "stacked": True,
        "currency": "events",
        "places": 0,
        "labels": [f"{bucket.start:{form}}" for bucket in activity.buckets],
        "series": [
            {"name": "Stored", "values": [bucket.stored for bucket in activity.buckets], "rest": False},
            {"name": "Rejected", "values": [bucket.rejected for bucket in activity.buckets], "rest": True},
        ],
    }
