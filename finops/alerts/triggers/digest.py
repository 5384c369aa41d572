"""When a digest is due, and of which days. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from finops.alerts.models import AlertSubscription
from finops.lib.periods import DateRange, bucket_start, previous_period

Frequency = AlertSubscription.Frequency

WAITS: Final = timedelta(days=3)
"""So long for the bills of its days; then it goes out with a note."""


@dataclass(frozen=True)
class DueDigest:
    """The newest digest whose day has come."""

    frequency: str
    days: DateRange

    @property
    def key(self) -> str:
        return f"digest:{self.frequency}:{self.days.start}"

    @property
    def earlier(self) -> DateRange:
        return previous_period(self.days)

    def is_ready(self, through: date | None, looked_through: date | None, today: date) -> bool:
        """Whether cost is complete and was looked at for anomalies up to its last day, or it waited long enough."""
        complete = all(each is not None and each >= self.days.end for each in (through, looked_through))
        return complete or today > self.days.end + WAITS


def due_digest(frequency: str, today: date) -> DueDigest:
    """Of the week before this one, from Monday; of the month before this one."""
    granularity = "week" if frequency == Frequency.WEEKLY else "month"
    end = bucket_start(granularity, today) - timedelta(days=1)
    return DueDigest(frequency, DateRange(bucket_start(granularity, end), end))
