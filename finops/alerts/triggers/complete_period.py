"""The days, weeks and months that subscriptions are about. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from finops.alerts.models import AlertSubscription
from finops.lib.periods import DateRange, Granularity, bucket_start

Frequency = AlertSubscription.Frequency

BUCKETS: Final[dict[str, Granularity]] = {
    Frequency.DAILY.value: "day",
    Frequency.WEEKLY.value: "week",
    Frequency.MONTHLY.value: "month",
}
LATE_DAYS: Final = 31
"""Days that ended so long ago are history; a month's bill may come a month late."""


@dataclass(frozen=True)
class CompletePeriod:
    """A day, week or month of which all days are complete."""

    frequency: str
    days: DateRange

    @property
    def mark(self) -> str:
        """`weekly:2026-03-16`, for keys of firings."""
        return f"{self.frequency}:{self.days.start}"


def complete_period(frequency: str, through: date | None, today: date) -> CompletePeriod | None:
    """The newest one; `through` is the last complete day. None where nothing is complete, or it ended too long ago to be
    news."""
    if through is None:
        return None
    granularity = BUCKETS[frequency]
    end = bucket_start(granularity, through + timedelta(days=1)) - timedelta(days=1)
    is_news = today - end <= timedelta(days=LATE_DAYS)
    return CompletePeriod(frequency, DateRange(bucket_start(granularity, end), end)) if is_news else None
