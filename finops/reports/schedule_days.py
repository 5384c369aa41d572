"""The due times of reports. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from finops.lib.formats.locales import zone
from finops.lib.periods import add_months


@dataclass(frozen=True)
class SendTime:
    """The day and hour of a month at which the previous month's report is sent, in a time zone (an IANA name)."""

    day: int
    hour: int
    time_zone: str

    def moment(self, month: date) -> datetime:
        """Return when the report of `month` is sent: never before the month, whose days are UTC days, is over."""
        following = add_months(month, 1)
        local = datetime(following.year, following.month, self.day, self.hour, tzinfo=zone(self.time_zone))
        return max(local.astimezone(UTC), datetime.combine(following, time(), tzinfo=UTC))

    def newest_month_due(self, now: datetime) -> date:
        """Return the first day of the newest month whose report may be sent."""
        month = add_months(now.date(), -1)
        while (
            self.moment(month) > now
        ):  # once; twice on the first day in time zones whose hour is a day behind UTC
            month = add_months(month, -1)
        return month

    def is_due(self, sent_month: date | None, now: datetime) -> bool:
        return sent_month is None or sent_month < self.newest_month_due(now)

    def next_moment(self, sent_month: date | None, now: datetime) -> datetime:
        """Return when the next report is sent: now if one is due."""
        if sent_month is None or self.is_due(sent_month, now):
            return now
        return self.moment(add_months(sent_month, 1))
