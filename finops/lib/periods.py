"""Named periods, ranges of days, and the earlier range of a comparison."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal

import msgspec

from finops.lib.errors import UserError, unknown_value

Period = Literal[
    "today",
    "yesterday",
    "last_7_days",
    "last_30_days",
    "last_90_days",
    "last_week",
    "month_to_date",
    "last_month",
    "last_3_months",
    "last_6_months",
    "last_12_months",
    "last_quarter",
    "quarter_to_date",
    "year_to_date",
]
DEFAULT_PERIOD: Period = "last_30_days"
Granularity = Literal["none", "day", "week", "month"]


class DateRange(msgspec.Struct, frozen=True):
    """A range of UTC days, both ends inclusive."""

    start: date
    end: date

    @property
    def days(self) -> int:
        return (self.end - self.start).days + 1


def each_day(days: DateRange) -> list[date]:
    return [days.start + timedelta(days=index) for index in range(days.days)]


ALL_DAYS = DateRange(date(1970, 1, 1), date(2999, 12, 31))
"""All days that cost may have."""


FIRST_MONTH, LAST_MONTH = date(1990, 1, 1), date(2199, 12, 1)
_MONTH = re.compile("[0-9]{4}-(0[1-9]|1[0-2])")  # \\d would match digits of every script


def month_from_text(text: str) -> date:
    """Return the first day of a billing month such as `2026-05`. Raises ValueError for any other text, and outside of the
    years 1990 to 2199."""
    if _MONTH.fullmatch(text) and FIRST_MONTH <= (month := date.fromisoformat(f"{text}-01")) <= LAST_MONTH:
        return month
    raise ValueError(f"{text[:20]!r} is not a billing month")


COST_YEARS = range(FIRST_MONTH.year, LAST_MONTH.year + 1)
EVERY_YEAR = range(date.min.year, date.max.year + 1)
"""Usage and change events may have any day."""


def month_start(day: date) -> date:
    return day.replace(day=1)


def add_months(day: date, months: int) -> date:
    """Return the first of the month that is `months` after the day's month."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, 1)


def month_end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def quarter_start(day: date, fiscal_start_month: int = 1) -> date:
    """Return the first day of the quarter; quarters are counted from the fiscal start month."""
    return add_months(day, -((day.month - fiscal_start_month) % 3))


def year_start(day: date, fiscal_start_month: int = 1) -> date:
    return add_months(day, -((day.month - fiscal_start_month) % 12))


def bucket_start(granularity: str, day: date) -> date:
    """Return the first day of the day's week (from Monday) or month, or the day itself."""
    if granularity == "week":
        return day - timedelta(days=day.weekday())
    return month_start(day) if granularity == "month" else day


def next_bucket(granularity: str, start: date) -> date:
    """Return the first day of the bucket after the one that begins on `start`."""
    if granularity == "month":
        return add_months(start, 1)
    return start + timedelta(days=7 if granularity == "week" else 1)


def bucket_end(granularity: str, start: date) -> date:
    """Return the last day of the bucket that begins on `start`."""
    if granularity == "month":
        return month_end(start)
    return start + min(timedelta(days=6 if granularity == "week" else 0), date.max - start)


def bucket_starts(granularity: str, days: DateRange) -> list[date]:
    """Return the first days of the buckets with any of these days."""
    starts = [bucket_start(granularity, days.start)]
    while bucket_end(granularity, starts[-1]) < days.end:
        starts.append(next_bucket(granularity, starts[-1]))
    return starts


def partial_bucket_warnings(granularity: str, days: DateRange) -> list[str]:
    """Return a sentence for a first or last bucket that is only partly within the days; none for granularity none."""
    if granularity == "none":
        return []
    first, last = bucket_start(granularity, days.start), bucket_start(granularity, days.end)
    cut = []
    if first < days.start:
        cut.append(f"the {granularity} of {first} counts from {days.start}")
    if bucket_end(granularity, last) > days.end:
        cut.append(f"the {granularity} of {last} counts to {days.end}")
    sentence = " and ".join(cut)
    return [f"{sentence[0].upper()}{sentence[1:]} only."] if cut else []


def _last_days(count: int) -> Callable[[date, int], DateRange]:
    return lambda today, _fiscal: DateRange(today - timedelta(days=count), today - timedelta(days=1))


def _last_months(count: int) -> Callable[[date, int], DateRange]:
    return lambda today, _fiscal: DateRange(add_months(today, -count), month_start(today) - timedelta(days=1))


def _last_week(today: date, _fiscal: int) -> DateRange:
    monday = bucket_start("week", today)
    return DateRange(monday - timedelta(days=7), monday - timedelta(days=1))


def _last_quarter(today: date, fiscal: int) -> DateRange:
    start = quarter_start(today, fiscal)
    return DateRange(add_months(start, -3), start - timedelta(days=1))


_PERIODS: dict[str, Callable[[date, int], DateRange]] = {
    "today": lambda today, _fiscal: DateRange(today, today),
    "yesterday": _last_days(1),
    "last_7_days": _last_days(7),
    "last_30_days": _last_days(30),
    "last_90_days": _last_days(90),
    "last_week": _last_week,
    "month_to_date": lambda today, _fiscal: DateRange(month_start(today), today),
    "last_month": _last_months(1),
    "last_3_months": _last_months(3),
    "last_6_months": _last_months(6),
    "last_12_months": _last_months(12),
    "last_quarter": _last_quarter,
    "quarter_to_date": lambda today, fiscal: DateRange(quarter_start(today, fiscal), today),
    "year_to_date": lambda today, fiscal: DateRange(year_start(today, fiscal), today),
}

PERIODS: tuple[str, ...] = tuple(_PERIODS)
PERIOD_ALIASES = {
    **{
        f"{word}_{unit}": f"{unit}_to_date"
        for word in ("this", "current")
        for unit in ("month", "quarter", "year")
    },
    **{f"previous_{unit}": f"last_{unit}" for unit in ("week", "month", "quarter")},
    "mtd": "month_to_date",
    "qtd": "quarter_to_date",
    "ytd": "year_to_date",
}
"""Other names that people use for a named period."""


def named_period(name: str, *, today: date, fiscal_start_month: int = 1) -> DateRange:
    """Return the days of a named period. `last_…_days` end yesterday; `last_…_months`, `last_week` (from Monday) and
    `last_quarter` (of the fiscal year) are the whole ones before the current one."""
    if name not in _PERIODS:
        raise unknown_value("period", name, PERIODS, show=str)
    return _PERIODS[name](today, fiscal_start_month)


def resolve_range(
    *,
    start: date | None,
    end: date | None,
    period: str | None,
    default: str,
    today: date,
    fiscal_start_month: int,
    years: range = COST_YEARS,
) -> DateRange:
    """Return the days that the arguments mean: start and end, or a named period, or the default period.

    Raises UserError when both ways are used, one end is missing or in none of the `years`, or the end lies before the
    start.
    """
    if period and (start or end):
        raise UserError("Use either period, or start_date and end_date.", field="period", value=period)
    if not (start or end):
        return named_period(period or default, today=today, fiscal_start_month=fiscal_start_month)
    if start is None or end is None:
        missing = "start_date" if start is None else "end_date"
        raise UserError(
            f"{missing} is missing. Use start_date and end_date together (both inclusive).", field=missing
        )
    _check_year(start, "start_date", years)
    _check_year(end, "end_date", years)
    if end < start:
        raise UserError(f"end_date {end} is before start_date {start}.", field="end_date", value=str(end))
    if (end - start).days > MAX_RANGE_DAYS:
        raise UserError(
            f"start_date to end_date is longer than the maximum of {MAX_RANGE_DAYS} days.", field="start_date"
        )
    return DateRange(start, end)


MAX_RANGE_DAYS = 3660


def _check_year(day: date, field: str, years: range) -> None:
    if day.year not in years:
        raise UserError(
            f"{field} {day} is not between {years[0]} and {years[-1]}.", field=field, value=str(day)
        )


def _year_before(day: date) -> date:
    try:
        return day.replace(year=day.year - 1)
    except ValueError:
        return date(day.year - 1, 2, 28)


def _check_earlier(days: DateRange) -> None:
    if days.start.year <= MAX_RANGE_DAYS // 365 + 1:
        raise UserError(f"compare_to: {days.start} is too early to be compared.", field="compare_to")


def previous_year(days: DateRange) -> DateRange:
    """Return the same days a year earlier; whole months stay whole months. Raises UserError in the first years."""
    _check_earlier(days)
    if whole_months(days):
        return DateRange(add_months(days.start, -12), month_end(add_months(days.end, -12)))
    return DateRange(_year_before(days.start), _year_before(days.end))


def previous_period(days: DateRange) -> DateRange:
    """Return the range immediately before: as many whole months for whole months, else as many days. Raises UserError in
    the first years."""
    _check_earlier(days)
    if whole_months(days):
        count = (days.end.year - days.start.year) * 12 + days.end.month - days.start.month + 1
        return DateRange(add_months(days.start, -count), days.start - timedelta(days=1))
    return DateRange(days.start - timedelta(days=days.days), days.start - timedelta(days=1))


def whole_period(name: str, days: DateRange) -> DateRange:
    """Return the whole month, quarter or year of a period to date; any other days unchanged."""
    months = {"month_to_date": 1, "quarter_to_date": 3, "year_to_date": 12}.get(name)
    return DateRange(days.start, add_months(days.start, months) - timedelta(days=1)) if months else days


def whole_months(days: DateRange) -> bool:
    """Whether the days are whole calendar months, from the first day of one to the last day of one."""
    return days.start.day == 1 and days.end == month_end(days.end)
