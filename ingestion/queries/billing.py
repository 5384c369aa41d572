"""The meter, and the rest of Settings → Usage & billing: this month by source, and storage.

The meter counts stored events by the month of their receipt. Each answer about usage is one statement, so that a
batch that is being moved from the ledger into a month's sum is counted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db import connection
from django.db.models import Max, Sum

from accounts.models import Account
from finops.lake.usage import flush_scheduler
from finops.lake.usage.flush_scheduler import StuckFlush
from finops.lake.usage.usage_segments import live_usage
from finops.lib import clock
from finops.lib.formats import dates
from finops.lib.periods import add_months, month_start
from finops.lib.registry import Registry

# Bounds for the ledger's index (account, received_at); a date is midnight in UTC, Django's connection is in UTC.
_MONTH = """
SELECT (SELECT coalesce(sum(accepted - duplicates), 0) FROM ingestion_usagebatch
         WHERE account_id = %(account)s AND voided_at IS NULL
           AND received_at >= %(month)s::date AND received_at < %(month)s::date + interval '1 month')
     + (SELECT coalesce(sum(events), 0) FROM ingestion_usagemeter
         WHERE account_id = %(account)s AND month = %(month)s::date)
"""

_BY_MONTH = """
SELECT month, sum(events)::bigint FROM (
    SELECT date_trunc('month', received_at AT TIME ZONE 'UTC')::date AS month, accepted - duplicates AS events
      FROM ingestion_usagebatch WHERE account_id = %(account)s AND voided_at IS NULL
    UNION ALL
    SELECT month, events FROM ingestion_usagemeter WHERE account_id = %(account)s
) AS counted GROUP BY month HAVING sum(events) > 0 ORDER BY month
"""


@dataclass(frozen=True)
class SourceMonth:
    """Events of one source this month so far. `events` is metered; the other counts are not. No name: the source was
    deleted."""

    source_id: int | None
    name: str
    events: int
    duplicates: int
    rejected: int
    voided: int
    url_name: str = "usage_source"
    """URL name of the source's page."""


@dataclass(frozen=True)
class OtherMeter:
    """Events stored by a higher app and metered with usage: by the first day of the month of receipt, and this month
    by source."""

    by_month: Callable[[Account], Mapping[date, int]]
    by_source: Callable[[Account], Sequence[SourceMonth]]


other_meters: Registry[OtherMeter] = Registry("meter")


def metered_events(account: Account, month: date) -> int:
    """Return the number of stored events received in the month of this day (UTC), without voided ones and duplicates.

    Reads the month's ledger: 30 ms for the 43,000 pushes of one a minute.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MONTH, {"account": account.pk, "month": month.replace(day=1)})
        row = cursor.fetchone()
    other_counts = (meter.by_month(account).get(month.replace(day=1), 0) for meter in other_meters.values())
    return sum(other_counts, int(row[0]) if row else 0)


def metered_events_by_month(account: Account) -> dict[date, int]:
    """Return the same for every month with events, by its first day, ascending."""
    with connection.cursor() as cursor:
        cursor.execute(_BY_MONTH, {"account": account.pk})
        counts = Counter({month: int(events) for month, events in cursor.fetchall()})
    for meter in other_meters.values():
        counts.update(meter.by_month(account))
    return dict(sorted(counts.items()))


MONTHS = 12


@dataclass(frozen=True)
class MeteredMonth:
    """Events received in a month (UTC) and stored."""

    month: date
    events: int
    is_running: bool = False


@dataclass(frozen=True)
class UsageStorage:
    """Storage of the account's usage. `bytes` is of the segments; waiting events are in PostgreSQL."""

    events: int
    bytes: int
    waiting: int
    waiting_since: datetime | None
    last_flush_at: datetime | None
    stuck: StuckFlush | None


def metered_months(account: Account) -> list[MeteredMonth]:
    """Return every month since the first event was received, at least 12, the current month first.

    Reads the account's ledger; see metering.
    """
    events_by_month, running = metered_events_by_month(account), month_start(clock.today())
    months = [add_months(running, -back) for back in range(MONTHS)]
    first = min(events_by_month, default=running)
    while months[-1] > first:
        months.append(add_months(months[-1], -1))
    return [MeteredMonth(month, events_by_month.get(month, 0), month == running) for month in months]


_BY_SOURCE = """
SELECT b.source_id, coalesce(s.name, ''),
       coalesce(sum(b.accepted - b.duplicates) FILTER (WHERE b.voided_at IS NULL), 0),
       sum(b.duplicates), sum(b.rejected),
       coalesce(sum(b.accepted - b.duplicates) FILTER (WHERE b.voided_at IS NOT NULL), 0)
  FROM ingestion_usagebatch b LEFT JOIN ingestion_usagesource s ON s.id = b.source_id
 WHERE b.account_id = %s AND b.received_at >= %s::date
 GROUP BY 1, 2 ORDER BY 3 DESC, 2
"""


def month_by_source(account: Account) -> list[SourceMonth]:
    """Return this month so far by source. The ledger has all of it, since batches stay there for 35 days."""
    with connection.cursor() as cursor:
        cursor.execute(_BY_SOURCE, [account.pk, month_start(clock.today())])
        of_usage = [
            SourceMonth(source_id, name, int(events), int(duplicates), int(rejected), int(voided))
            for source_id, name, events, duplicates, rejected, voided in cursor.fetchall()
        ]
    other_rows = [row for meter in other_meters.values() for row in meter.by_source(account)]
    return sorted([*of_usage, *other_rows], key=lambda row: (-row.events, row.name))


_WAITING = "SELECT coalesce(sum(events), 0), min(received_at) FROM lake_usageinbox WHERE account_id = %s"


def usage_storage(account: Account) -> UsageStorage:
    """Return the storage. Three statements: one over the manifest, two over waiting events."""
    totals = live_usage(account).aggregate(rows=Sum("rows"), bytes=Sum("bytes"), last=Max("created_at"))
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [account.pk])
        ((waiting, since),) = cursor.fetchall()
    return UsageStorage(
        events=(totals["rows"] or 0) + waiting,
        bytes=totals["bytes"] or 0,
        waiting=waiting,
        waiting_since=since,
        last_flush_at=totals["last"],
        stuck=flush_scheduler.stuck(account),
    )


def events_before(account: Account, month: date) -> int:
    """Return the number of events in segments of the months before this one, which a retention from it on deletes."""
    return live_usage(account).filter(month__lt=month).aggregate(rows=Sum("rows"))["rows"] or 0


def meter_chart(months: Sequence[MeteredMonth]) -> dict[str, Any]:
    """Return the chart for `charts.js`, the current month last."""
    ascending = list(reversed(months))
    values = [row.events for row in ascending]
    return {
        "kind": "bar",
        "stacked": True,
        "currency": "events",
        "places": 0,
        "labels": [f"{row.month:%Y-%m}" for row in ascending],
        "texts": [dates.month(row.month) for row in ascending],
        "series": [{"name": "Metered", "values": values, "rest": False}],
    }
