"""The periods of a budget: calendar months, and quarters and years from the account's fiscal start month. Pure."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from finops.lib.periods import DateRange, add_months, month_start, quarter_start, year_start

MONTHS: Final = {"monthly": 1, "quarterly": 3, "yearly": 12}


def period_of(kind: str, day: date, fiscal_start_month: int) -> DateRange:
    """Return the budget period that includes a day. Raises KeyError for other kinds than monthly, quarterly, yearly."""
    length = MONTHS[kind]
    starts = {1: month_start(day), 3: quarter_start(day, fiscal_start_month)}
    return _from(starts.get(length, year_start(day, fiscal_start_month)), length)


def shift_period(kind: str, period: DateRange, count: int) -> DateRange:
    """Return the period `count` periods later, or earlier when negative."""
    length = MONTHS[kind]
    return _from(add_months(period.start, count * length), length)


def is_first_day(kind: str, day: date, fiscal_start_month: int) -> bool:
    """Return whether a period of this kind starts on the day."""
    return period_of(kind, day, fiscal_start_month).start == day


def _from(start: date, months: int) -> DateRange:
    return DateRange(start, add_months(start, months) - timedelta(days=1))
