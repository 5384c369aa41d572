"""Date formats of files: ISO 8601, seconds or milliseconds since 1970, or a pattern such as %d.%m.%Y. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final
from zoneinfo import ZoneInfo

from finops.costs.focus.values import EARLIEST, LATEST, parse_moment
from finops.lib.sentences import quote

ISO: Final = "iso"
EPOCH_SECONDS: Final = "epoch_s"
EPOCH_MILLISECONDS: Final = "epoch_ms"

DATE_FORMATS: Final[dict[str, str]] = {
    ISO: "2026-05-31 (ISO 8601)",
    "%d.%m.%Y": "31.05.2026",
    "%d/%m/%Y": "31/05/2026",
    "%m/%d/%Y": "05/31/2026",
    "%d-%m-%Y": "31-05-2026",
    "%Y%m%d": "20260531",
    "%d %b %Y": "31 May 2026",
    "%b %d, %Y": "May 31, 2026",
    "%d.%m.%Y %H:%M": "31.05.2026 14:30",
    "%d.%m.%Y %H:%M:%S": "31.05.2026 14:30:00",
    "%d/%m/%Y %H:%M": "31/05/2026 14:30",
    "%d/%m/%Y %H:%M:%S": "31/05/2026 14:30:00",
    "%m/%d/%Y %H:%M": "05/31/2026 14:30",
    "%m/%d/%Y %H:%M:%S": "05/31/2026 14:30:00",
    "%Y-%m": "2026-05",
    "%Y%m": "202605",
    "%m/%Y": "05/2026",
    "%m.%Y": "05.2026",
    "%b %Y": "May 2026",
    "%B %Y": "May 2026 (whole name)",
    EPOCH_SECONDS: "1780185600 (seconds since 1970)",
    EPOCH_MILLISECONDS: "1780185600000 (milliseconds since 1970)",
}
"""The formats that the page offers, each with the last day of May as an example."""

_DIRECTIVES: Final = frozenset("YymdHIMSfpbBz%")
_DIRECTIVE: Final = re.compile(r"%(.)", re.DOTALL)
_OUTSIDE: Final = "is not between the years 1990 and 2199"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST: Final = 64
_MOST_DIGITS: Final = 15
"""The maximum of digits before the point of seconds since 1970; larger numbers are no realistic dates."""


def date_format_problem(pattern: str) -> str:
    """Return the error of a date format in a sentence; empty if it is valid."""
    if not pattern:
        return "Choose the date format. It is ambiguous, such as 05/06/2026: 5 June or May 6."
    if pattern in (ISO, EPOCH_SECONDS, EPOCH_MILLISECONDS):
        return ""
    directives = _DIRECTIVE.findall(pattern)
    wrong = [each for each in directives if each not in _DIRECTIVES]
    if wrong:
        return f"%{wrong[0]} is not a part of a date. Use %d, %m, %Y, %H, %M and %S, as in %d.%m.%Y."
    parts = [each for each in directives if each != "%"]
    if not {"Y", "y"} & {*parts} or not {"m", "b", "B"} & {*parts} or len(parts) != len({*parts}):
        return "The date format needs year and month once each, as in %d.%m.%Y or %Y-%m."
    try:
        datetime.strptime(datetime(2026, 5, 31).strftime(pattern), pattern)  # noqa: DTZ001,DTZ007 a try of the pattern
    except (ValueError, re.error):
        return f"{quote(pattern)} is not a date format. Write it as in %d.%m.%Y or %Y-%m."
    return ""


def parse_local(value: date | str, pattern: str, zone: ZoneInfo) -> datetime:
    """Return the local time in `zone`, without its zone. ValueError names the problem.

    A time with its own zone is converted to `zone`; one without is already local.
    """
    moment = _parse(value, pattern) if isinstance(value, str) else _of_type(value)
    if not EARLIEST <= moment.date() <= LATEST:
        raise ValueError(_OUTSIDE)
    local = moment.astimezone(zone).replace(tzinfo=None) if moment.tzinfo is not None else moment
    if not EARLIEST <= local.date() <= LATEST:
        raise ValueError(_OUTSIDE)
    return local


def _of_type(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001 of no zone


def _parse(text: str, pattern: str) -> datetime:
    bare = text.strip()
    if pattern == ISO:
        return parse_moment(bare)
    if pattern in (EPOCH_SECONDS, EPOCH_MILLISECONDS):
        return _of_epoch(bare, 1 if pattern == EPOCH_SECONDS else 1_000)
    try:
        return datetime.strptime(bare[:_LONGEST], pattern)  # noqa: DTZ007 what names no zone is of the document's
    except (ValueError, OverflowError) as error:
        shown = DATE_FORMATS.get(pattern, pattern)
        raise ValueError(f"is not a date as {shown}, the date format of the column mapping") from error


def _of_epoch(text: str, scale: int) -> datetime:
    unit = "seconds" if scale == 1 else "milliseconds"
    try:
        number = Decimal(text[:_LONGEST])
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ValueError(f"is not a number of {unit} since 1970, the date format of the column mapping")
    if number.adjusted() > _MOST_DIGITS:
        raise ValueError(_OUTSIDE)
    try:
        return _EPOCH + timedelta(microseconds=int(number * 1_000_000 / scale))
    except OverflowError as error:
        raise ValueError(_OUTSIDE) from error
