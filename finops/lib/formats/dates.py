"""Days, months and times in the reader's locale; the year only where it is not the current one.

A day of cost or usage is a UTC day and is never converted; a moment is shown in the reader's time zone.
"""

from __future__ import annotations

import functools
import re
from datetime import date, datetime, timedelta
from typing import cast

from babel.dates import format_datetime, format_interval, format_skeleton

from finops.lib import clock
from finops.lib.formats import locales

_DASH = re.compile(r"\s*–\s*")
_THIN = dict.fromkeys(map(ord, "\u2009\u202f\u00a0"), " ")


def day(value: date) -> str:
    """`Oct 23`; of another year `Oct 23, 2025`."""
    return _skeleton(value, "MMMd" if _is_this_year(value) else "yMMMd", locales.active().locale)


def month(value: date) -> str:
    """`Nov`; of another year `Nov 2025`."""
    return _skeleton(value, "MMM" if _is_this_year(value) else "yMMM", locales.active().locale)


def long_month(value: date) -> str:
    """`November 2026`, for headings."""
    return _skeleton(value, "yMMMM", locales.active().locale)


def day_range(start: date, end: date) -> str:
    """`Oct 23 – Nov 21`; a single day alone."""
    if start == end:
        return day(start)
    is_plain = _is_this_year(start) and _is_this_year(end)
    return _interval(start, end, "MMMd" if is_plain else "yMMMd", locales.active().locale)


def month_range(start: date, end: date) -> str:
    """`Oct – Nov`; a single month alone."""
    if (start.year, start.month) == (end.year, end.month):
        return month(start)
    is_plain = _is_this_year(start) and _is_this_year(end)
    return _interval(start, end, "MMM" if is_plain else "yMMM", locales.active().locale)


def compared_days(start: date, end: date, previous_start: date, previous_end: date) -> str:
    """`Oct 23 – Nov 21 vs Sep 23 – Oct 22`."""
    return f"{day_range(start, end)} vs {day_range(previous_start, previous_end)}"


def moment(value: datetime) -> str:
    """`Oct 23, 3:04 PM` in the reader's time zone."""
    local = value.astimezone(locales.zone(locales.active().time_zone))
    return f"{day(local.date())}, {clock_time(value)}"


def clock_time(value: datetime) -> str:
    """`3:04 PM` in the reader's time zone."""
    return _clock(value.astimezone(locales.zone(locales.active().time_zone)))


def full_hour(hour: int) -> str:
    """`3:00 PM` for 15: an hour of a day whose time zone is written beside it."""
    return _clock(datetime(2000, 1, 1, hour))  # noqa: DTZ001 no zone is meant


def _clock(local: datetime) -> str:
    locale = locales.active().locale
    skeleton = "hm" if _has_day_halves(locale) else "Hm"
    return _skeleton(local.replace(second=0, microsecond=0, tzinfo=None), skeleton, locale)


def exact_moment(value: datetime) -> str:
    """`Friday, October 23, 2026, 3:04:05 PM UTC`: what hovering shows."""
    reader = locales.active()
    local = value.astimezone(locales.zone(reader.time_zone))
    text = format_datetime(local, "full", locale=locales.cldr(reader.locale), tzinfo=local.tzinfo)
    return text.translate(_THIN).replace("Coordinated Universal Time", "UTC")


def duration(seconds: float) -> str:
    """`Under 1 second`, `4.2 seconds`, `40 seconds`, `3 minutes`, `2 h 10 min`."""
    if seconds < 1:
        return "Under 1 second"
    if seconds < 10:
        return f"{seconds:.1f} seconds"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


_STEPS = ((86_400 * 365, "year"), (86_400 * 30, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def ago(span: timedelta) -> str:
    """`3 hours ago`; under a minute `just now`, in the future `in 3 hours`."""
    seconds = int(abs(span.total_seconds()))
    for size, name in _STEPS:
        count = seconds // size
        if count:
            words = f"{count} {name}{'' if count == 1 else 's'}"
            return f"{words} ago" if span.total_seconds() > 0 else f"in {words}"
    return "just now"


def bucket(label: str) -> str:
    """Format a bucket of a chart: `2026-11` as `Nov`, `2026-11-23` as `Nov 23`; any other label is unchanged."""
    try:
        return month(date.fromisoformat(f"{label}-01")) if len(label) == 7 else day(date.fromisoformat(label))
    except ValueError:
        return label


def _is_this_year(value: date) -> bool:
    return value.year == clock.today().year


@functools.lru_cache(maxsize=4096)
def _skeleton(value: date, skeleton: str, locale: str) -> str:
    return format_skeleton(skeleton, cast(datetime, value), locale=locales.cldr(locale)).translate(_THIN)


@functools.lru_cache(maxsize=1024)
def _interval(start: date, end: date, skeleton: str, locale: str) -> str:
    text = format_interval(start, end, skeleton, locale=locales.cldr(locale)).translate(_THIN)
    return _DASH.sub(" – ", text)


@functools.cache
def _has_day_halves(locale: str) -> bool:
    return "a" in locales.cldr(locale).time_formats["short"].pattern
