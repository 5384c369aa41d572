"""Parse one number or one date as people and systems write them. Pure; whole columns use `convert`."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final, NamedTuple

EARLIEST, LATEST = date(1990, 1, 1), date(2199, 12, 31)

NULLS: Final = frozenset({"NULL", "null", "Null", ""})
NO_NUMBER: Final = NULLS | {"-", "\N{EN DASH}", "\N{EM DASH}", "N/A", "n/a", "#N/A"}
"""Texts that mean no number."""

_ATTO: Final = Decimal(1).scaleb(-18)
_CONTEXT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)
MOST_DIGITS: Final = 20
"""Digits before the point: what the lake's type has besides its 18 decimals."""
_SIGNS: Final = "$€£¥₹"


class NumberFormat(enum.StrEnum):
    """The decimal mark. The other mark may separate thousands."""

    POINT = "point"
    COMMA = "comma"


class DateOrder(enum.StrEnum):
    """The first part of a date such as 05/09/2026."""

    MONTH_FIRST = "month-first"
    DAY_FIRST = "day-first"


class _Marks(NamedTuple):
    plain: re.Pattern[str]
    grouped: re.Pattern[str]
    decimal: str
    thousands: str


def _marks(decimal: str, thousands: str, more: str = "") -> _Marks:
    point, group = re.escape(decimal), re.escape(thousands)
    return _Marks(
        re.compile(rf"[+-]?(\d+{point}?\d*|{point}\d+)([eE][+-]?\d{{1,4}})?", re.ASCII),
        re.compile(rf"[+-]?([1-9]\d{{0,2}}([{group} '])\d{{3}}(\2\d{{3}})*{more})({point}\d*)?", re.ASCII),
        decimal,
        thousands,
    )


# Thousands never begin with a zero, so 0,123 has one reading. India writes 12,34,567.89.
_MARKS: Final[Mapping[NumberFormat, _Marks]] = {
    NumberFormat.POINT: _marks(".", ",", r"|[1-9]\d?(?:,\d\d)+,\d{3}"),
    NumberFormat.COMMA: _marks(",", "."),
}
_SPACES_AND_APOSTROPHES: Final = {
    **dict.fromkeys(
        map(ord, "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{FIGURE SPACE}"), " "
    ),
    ord("\N{RIGHT SINGLE QUOTATION MARK}"): "'",
    ord("\N{MINUS SIGN}"): "-",
}


class TooLarge(ValueError):
    """A number with more than 20 digits before the point, which the lake's type cannot store."""


def parse_amount(value: str, format_: NumberFormat = NumberFormat.POINT) -> tuple[Decimal | None, list[str]]:
    """Return an amount and the deviations found while parsing. ValueError if it is not a number, TooLarge at 10^20.

    `$1,234.50 `, `(5.00)`, `1'234.5` and `1.5E-7` are amounts with a decimal point; `1.234,50 €` has a comma.
    """
    kinds, bare = [], value.strip()
    if bare != value:
        kinds.append("spaces_around_amount")
    if bare in NO_NUMBER:
        return None, ["null_text"]
    bare = bare.translate(_SPACES_AND_APOSTROPHES)
    if bare.startswith("(") and bare.endswith(")"):
        bare = "-" + bare[1:-1].strip()
        kinds.append("negative_in_parentheses")
    bare, signs = _strip_sign(bare)
    if signs:
        kinds.append("currency_sign")
    marks = _MARKS[format_]
    if marks.grouped.fullmatch(bare):
        bare = bare.replace(marks.thousands, "").replace(" ", "").replace("'", "")
        kinds.append("thousands_separator")
    if not marks.plain.fullmatch(bare):
        raise ValueError("is not a number")
    return _exact(bare.replace(marks.decimal, "."), kinds), kinds


def _strip_sign(bare: str) -> tuple[str, bool]:
    minus, unsigned = ("-", bare[1:].strip()) if bare.startswith("-") else ("", bare)
    stripped = unsigned.strip(_SIGNS).strip()
    return minus + stripped, stripped != unsigned


def _exact(bare: str, kinds: list[str]) -> Decimal:
    number = Decimal(bare)
    if number.adjusted() >= MOST_DIGITS and number:
        raise TooLarge("is too large")
    rounded = number.quantize(_ATTO, context=_CONTEXT)
    if rounded != number:
        kinds.append("rounded")
    return rounded


def usual_pattern(format_: NumberFormat) -> tuple[str, str, str]:
    """Return a regular expression of a format's usual numbers, its thousands separator and decimal mark."""
    marks = _MARKS[format_]
    point, group = re.escape(marks.decimal), re.escape(marks.thousands)
    number = rf"^[+-]?([1-9]\d{{0,2}}({group}\d{{3}})+({point}\d*)?|(\d+{point}?\d*|{point}\d+)([eE][+-]?\d{{1,4}})?)$"
    return number, marks.thousands, marks.decimal


class UtcDay(NamedTuple):
    """A day in UTC, and its written form."""

    value: date
    order: DateOrder | None = None
    no_zone: bool = False


# 4/1/25, 05/09/2026 0:00, 9/1/2026 12:00:00 AM, 05.09.2026, 05-09-2026. The year is last, so two orders fit.
_NUMERIC: Final = re.compile(
    r"(\d{1,2})(?:/(\d{1,2})/|\.(\d{1,2})\.|-(\d{1,2})-(?=\d{4}))(\d{4}|\d{2})"
    r"(?:,?[ T]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp][Mm])?)?",
    re.ASCII,
)
_YEAR_FIRST: Final = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?=$|[ T])", re.ASCII)


def ordered_date(value: str, order: DateOrder) -> date | None:
    """Return the date of a text such as 05/09/2026 in that order; None for other forms and invalid dates."""
    match = _NUMERIC.fullmatch(value.strip())
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or match[3] or match[4])
    month, day = (first, second) if order is DateOrder.MONTH_FIRST else (second, first)
    try:
        return date(int(match[5]) + (2000 if len(match[5]) == 2 else 0), month, day)
    except ValueError:
        return None


def needs_order(value: str) -> bool:
    """Return whether a text is a date for which the order of day and month matters."""
    return _NUMERIC.fullmatch(value.strip()) is not None


def parse_moment(value: str) -> datetime:
    """Return an ISO 8601 time, UTC if it has no zone (2026/09/05 too). ValueError if invalid."""
    bare = _YEAR_FIRST.sub(lambda match: f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}", value.strip())
    try:
        return datetime.fromisoformat(bare.removesuffix(" UTC") + ("Z" if bare.endswith(" UTC") else ""))
    except ValueError as error:
        raise ValueError("is not a date and time such as 2026-05-01T00:00:00Z") from error


def parse_day(value: str, order: DateOrder = DateOrder.MONTH_FIRST) -> UtcDay:
    """Return the UTC day of an ISO 8601 time, or of a date such as 05/09/2026 in that order.

    ValueError if it is neither, or outside of the years 1990 to 2199.
    """
    if needs_order(value):
        day = ordered_date(value, order)
        if day is None:
            order_text = "month/day/year" if order is DateOrder.MONTH_FIRST else "day/month/year"
            raise ValueError(f"is not a date as {order_text}")
        return UtcDay(_check_year(day), order, no_zone=True)
    moment = parse_moment(value)
    if moment.tzinfo is None:
        return UtcDay(_check_year(moment.date()), no_zone=True)
    try:
        return UtcDay(_check_year(moment.astimezone(UTC).date()))
    except OverflowError as error:
        raise ValueError("is not between the years 1990 and 2199") from error


def _check_year(value: date) -> date:
    if not EARLIEST <= value <= LATEST:
        raise ValueError("is not between the years 1990 and 2199")
    return value
