"""The health of one connection: a source of cost, usage or change events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import median_low
from typing import Final

import msgspec


# Days (both ends inside) without cost lines, of a source that otherwise has some every day.
class Gap(msgspec.Struct, frozen=True, kw_only=True):
    start_date: date
    end_date: date


# A finished billing month that was imported again `times` times, last on `last_day`.
class RestatedMonth(msgspec.Struct, frozen=True, kw_only=True):
    month: str
    times: int
    last_day: date


# kind: cost, usage, events. status: healthy, stale, partial, failing, importing, no_data. `expected_by`: when the next delivery is late;
# None with a reason. `data_through`: the newest day that it has data for; of change events the day of the newest.
class ConnectionHealth(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    status: str
    reason: str
    what_to_do: str
    data_from: date | None
    data_through: date | None
    last_success_at: datetime | None
    expected_by: datetime | None
    expected_reason: str
    overdue: bool
    gaps: list[Gap]
    missing_months: list[str]
    restated_months: list[RestatedMonth]
    last_error: str
    page: str


FEWEST: Final = 3
"""Minimum number of days with a delivery from which a schedule is known."""
NEWEST: Final = 14
IRREGULAR = f"Schedule unknown: fewer than {FEWEST} deliveries on different days."


def next_delivery(days: Sequence[date], last: datetime | None, now: datetime) -> tuple[datetime | None, bool]:
    """Return when the next delivery is late, and whether it is: after the median time between the newest days with
    deliveries plus half of it, at least half a day. None for too few deliveries."""
    newest = sorted(set(days))[-NEWEST:]
    if last is None or len(newest) < FEWEST:
        return None, False
    usual = median_low((later - earlier).days for earlier, later in pairwise(newest))
    due = last + timedelta(days=max(usual * 1.5, usual + 0.5))
    return due, due < now
