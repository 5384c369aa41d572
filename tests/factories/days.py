"""Days and times of tests."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, date, datetime, timedelta

from finops.lib import clock

NOON = datetime(2026, 3, 20, 12, tzinfo=UTC)
"""The current time of tests that set no other; a Friday."""


def days(first: date, last: date) -> list[date]:
    """Return the days from `first` to `last`, both inclusive."""
    return [first + timedelta(days=count) for count in range((last - first).days + 1)]


def at(day: date, hour: int = 12) -> AbstractContextManager[None]:
    """Freeze the clock at this hour of the day."""
    return clock.frozen(datetime(day.year, day.month, day.day, hour, tzinfo=UTC))
