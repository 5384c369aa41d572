"""The complete days, weeks and months of subscriptions. Pure."""

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
"""The maximum age in days: a month's bill may come a month late, and older periods are history."""


@dataclass(frozen=True)
class CompletePeriod:
    """A day, week or month with only complete days."""

    frequency: str
    days: DateRange

    @property
    def mark(self) -> str:
        """The period in keys of firings: `weekly:2026-03-16`."""
        return f"{self.frequency}:{self.days.start}"


def complete_period(frequency: str, through: date | None, today: date) -> CompletePeriod | None:
    """Return the newest complete period. `through` is the last complete day. None without one, or if it ended too
    long ago."""
    if through is None:
        return None
    granularity = BUCKETS[frequency]
    end = bucket_start(granularity, through + timedelta(days=1)) - timedelta(days=1)
    is_news = today - end <= timedelta(days=LATE_DAYS)
    return CompletePeriod(frequency, DateRange(bucket_start(granularity, end), end)) if is_news else None
