"""Columns as files have them, into columns as the lake has them: text, amounts, days.

Each function takes a whole column of a batch. The usual form is converted in a few vector operations; only when that
fails are the distinct values looked at one by one. Raises BadCell for a value that fits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import ENUMERATIONS, fold
from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings
from finops.lake.schema import MONEY

DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())
EARLIEST, LATEST = date(1990, 1, 1), date(2199, 12, 31)

_NULLS: Final = pa.array(["NULL", "null", "Null", ""])
_ATTO: Final = Decimal(1).scaleb(-18)
_CONTEXT: Final = Context(prec=200, rounding=ROUND_HALF_EVEN)
_LIMIT: Final = Decimal(10) ** 20
_SIGNS: Final = "$€£¥₹"
_PLAIN: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_THOUSANDS: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_US_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})(?:[ T]+\d{1,2}:\d{2}(?::\d{2})?)?", re.ASCII)


class Day(NamedTuple):
    """A day in UTC, and how it was written."""

    value: date
    us_date: bool = False
    no_zone: bool = False


def text(values: pa.Array, column: str, findings: Findings) -> pa.DictionaryArray:
    """Text, dictionary-encoded; the word NULL and blank text are null. Enumerated values get FOCUS's spelling."""
    encoded = _encoded(values, column)
    blank = pc.is_in(pc.utf8_trim_whitespace(encoded.dictionary), value_set=_NULLS)
    if pc.any(blank).as_py():
        findings.cells("null_text", column, pc.take(blank, encoded.indices), encoded)
        encoded = _without(encoded, blank)
    return _enumerated(encoded, column, findings) if column in ENUMERATIONS else encoded


def currency(values: pa.DictionaryArray, column: str, findings: Findings) -> pa.DictionaryArray:
    """Currency codes in capitals."""
    fixed = [_currency_code(value) for value in values.dictionary.to_pylist()]
    for place, (value, code) in enumerate(zip(values.dictionary.to_pylist(), fixed, strict=True)):
        if code is None and (index := pc.index(values.indices, place).as_py()) >= 0:
            raise BadCell(column, index, value, "it is not a three-letter currency code such as USD")
    return _respelled(values, fixed, "odd_case", column, findings)


def _currency_code(value: str) -> str | None:
    code = value.strip().upper()
    return code if len(code) == 3 and code.isascii() and code.isalpha() else None


def _encoded(values: pa.Array, column: str) -> pa.DictionaryArray:
    if values.type == DICTIONARY:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        return values.cast(pa.string()).dictionary_encode()
    except pa.ArrowInvalid as error:
        raise BadCell(column, 0, "", "the column holds text that is not UTF-8") from error
    except pa.ArrowNotImplementedError as error:
        raise BadCell(column, 0, values.type, "the column's type is not text") from error


def _without(encoded: pa.DictionaryArray, drop: pa.Array) -> pa.DictionaryArray:
    """Null where the dictionary's value is to be dropped. Keeps codes, so the dictionary may hold unused values."""
    size = len(encoded.dictionary)
    kept = pc.if_else(drop, pa.scalar(None, pa.int32()), pa.array(range(size), pa.int32()))
    return pa.DictionaryArray.from_arrays(kept.take(encoded.indices), encoded.dictionary)


_SPELLINGS: Final[Mapping[str, Mapping[str, str]]] = {
    column: {fold(value): value for value in values} for column, values in ENUMERATIONS.items()
}


def _enumerated(encoded: pa.DictionaryArray, column: str, findings: Findings) -> pa.DictionaryArray:
    values = encoded.dictionary.to_pylist()
    spelled = [_SPELLINGS[column].get(fold(value)) for value in values]
    unknown = pa.array([right is None for right in spelled], pa.bool_())
    if pc.any(unknown).as_py():
        findings.cells("unknown_value", column, pc.take(unknown, encoded.indices), encoded)
    fixed = [right or value for right, value in zip(spelled, values, strict=True)]
    return _respelled(encoded, fixed, "odd_case", column, findings)


def _respelled(
    encoded: pa.DictionaryArray, fixed: list[Any], kind: str, column: str, findings: Findings
) -> pa.DictionaryArray:
    changed = pa.array(
        [new != old for new, old in zip(fixed, encoded.dictionary.to_pylist(), strict=True)], pa.bool_()
    )
    if not pc.any(changed).as_py():
        return encoded
    findings.cells(kind, column, pc.take(changed, encoded.indices), encoded)
    right = pa.array(fixed, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(right.indices.take(encoded.indices), right.dictionary)


def amount(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    """Exact decimals with 18 places. More places are rounded half to even, which the findings count."""
    type_ = values.type
    if pa.types.is_floating(type_):
        findings.cells("floating_point", column, pc.is_valid(values))
        values = values.cast(pa.string())
    elif pa.types.is_decimal(type_) or pa.types.is_integer(type_):
        return _rescaled(values, column, findings)
    elif pa.types.is_dictionary(type_):
        values = values.dictionary_decode()
    if not (
        pa.types.is_string(values.type)
        or pa.types.is_large_string(values.type)
        or pa.types.is_null(values.type)
    ):
        raise BadCell(column, 0, values.type, "the column's type is not a number")
    return _from_text(values.cast(pa.string()), column, findings)


def _rescaled(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    try:
        return values.cast(MONEY)
    except pa.ArrowInvalid:
        return _from_text(values.cast(pa.string()), column, findings)


def _from_text(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    try:
        return values.cast(MONEY)
    except pa.ArrowInvalid:
        missing = pc.is_in(values, value_set=_NULLS)
    if pc.any(missing).as_py():
        findings.cells("null_text", column, missing, values)
        values = pc.if_else(missing, pa.scalar(None, pa.string()), values)
    try:
        return values.cast(MONEY)
    except pa.ArrowInvalid:
        return _one_by_one(values, column, findings)


def _one_by_one(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    encoded = values.dictionary_encode()
    parsed: list[Decimal | None] = []
    flags: dict[str, list[bool]] = {}
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            number, found = parse_amount(value)
        except ValueError as error:
            raise BadCell(column, pc.index(encoded.indices, place).as_py(), value, str(error)) from error
        parsed.append(number)
        for kind in found:
            flags.setdefault(kind, [False] * len(encoded.dictionary))[place] = True
    for kind, mask in flags.items():
        findings.cells(kind, column, pa.array(mask).take(encoded.indices), values)
    return pa.array(parsed, MONEY).take(encoded.indices)


def parse_amount(value: str) -> tuple[Decimal | None, list[str]]:
    """An amount as people write it, and which liberties it took. ValueError when it is none, or too large.

    `$1,234.50 ` and `(5.00)` and `1.5E-7` are amounts; a decimal comma is not, because `1,234` would mean two things.
    """
    found, bare = [], value.strip()
    if bare != value:
        found.append("spaces_around_amount")
    if bare in ("", "NULL", "null", "Null"):
        return None, ["null_text"]
    bare = bare.replace("\N{MINUS SIGN}", "-")
    if bare.startswith("(") and bare.endswith(")"):
        bare = "-" + bare[1:-1].strip()
        found.append("negative_in_parentheses")
    bare, signs = _without_sign(bare)
    if signs:
        found.append("currency_sign")
    if _THOUSANDS.fullmatch(bare):
        bare = bare.replace(",", "")
        found.append("thousands_separator")
    if not _PLAIN.fullmatch(bare):
        raise ValueError(_not_an_amount(bare))
    return _exact(bare, found), found


def _without_sign(bare: str) -> tuple[str, bool]:
    minus, rest = ("-", bare[1:].strip()) if bare.startswith("-") else ("", bare)
    stripped = rest.strip(_SIGNS).strip()
    return minus + stripped, stripped != rest


def _not_an_amount(bare: str) -> str:
    if re.fullmatch(r"-?[\d.]+,\d+", bare):
        return "it is not a number: FOCUS writes a decimal point, not a comma"
    return "it is not a number"


def _exact(bare: str, found: list[str]) -> Decimal:
    try:
        number = Decimal(bare)
        if abs(number) >= _LIMIT:
            raise ValueError("it is too large: amounts have at most 20 digits before the point")
        rounded = number.quantize(_ATTO, context=_CONTEXT)
    except InvalidOperation as error:
        raise ValueError("it is not a number that can be kept") from error
    if rounded != number:
        found.append("rounded")
    return rounded


def day(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    """UTC days as date32 of texts, timestamps or dates."""
    if pa.types.is_date(values.type):
        return _within(values.cast(pa.date32()), column)
    if pa.types.is_timestamp(values.type):
        if values.type.tz is None:
            findings.cells("no_zone", column, pc.is_valid(values))
        seconds = pc.floor_temporal(values.cast(pa.timestamp(values.type.unit)), unit="day")
        return _within(seconds.cast(pa.date32()), column)
    return _days_of_text(text(values, column, findings), column, findings)


def _within(days: pa.Array, column: str) -> pa.Array:
    outside = pc.or_(pc.less(days, pa.scalar(EARLIEST)), pc.greater(days, pa.scalar(LATEST)))
    index = pc.index(pc.fill_null(outside, False), True).as_py()
    if index >= 0:
        raise BadCell(column, index, days[index].cast(pa.string()), "the year is not between 1990 and 2199")
    return days


def _days_of_text(encoded: pa.DictionaryArray, column: str, findings: Findings) -> pa.Array:
    days: list[Day] = []
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            days.append(_day(value))
        except ValueError as error:
            index = pc.index(encoded.indices, place).as_py()
            if index >= 0:
                raise BadCell(column, index, value, str(error)) from error
            days.append(Day(EARLIEST))
    _count_days(encoded, column, findings, "us_date", [found.us_date for found in days])
    _count_days(encoded, column, findings, "no_zone", [found.no_zone for found in days])
    return pa.array([found.value for found in days], pa.date32()).take(encoded.indices)


def _count_days(
    encoded: pa.DictionaryArray, column: str, findings: Findings, kind: str, flags: list[bool]
) -> None:
    if any(flags):
        findings.cells(kind, column, pa.array(flags).take(encoded.indices), encoded)


_days: dict[str, Day] = {}


def _day(value: str) -> Day:
    """parse_day, remembered: a file names the same hours again and again."""
    known = _days.get(value)
    if known is None:
        if len(_days) > 50_000:
            _days.clear()
        known = _days[value] = parse_day(value)
    return known


def parse_day(value: str) -> Day:
    """The UTC day of an ISO 8601 time, or of month/day/year. ValueError when it is neither, or before 1990."""
    bare = value.strip()
    match = _US_DATE.fullmatch(bare)
    if match:
        return Day(_checked(_us_date(int(match[1]), int(match[2]), match[3])), us_date=True, no_zone=True)
    try:
        moment = datetime.fromisoformat(bare.removesuffix(" UTC") + ("Z" if bare.endswith(" UTC") else ""))
    except ValueError as error:
        raise ValueError("it is not a date and time such as 2026-05-01T00:00:00Z") from error
    if moment.tzinfo is None:
        return Day(_checked(moment.date()), no_zone=True)
    return Day(_checked(_in_utc(moment)))


def _us_date(month: int, day_: int, year: str) -> date:
    try:
        return date(int(year) + (2000 if len(year) == 2 else 0), month, day_)
    except ValueError as error:
        raise ValueError(
            "dates with slashes are read as month/day/year, and this is none. Write 2026-05-01"
        ) from error


def _in_utc(moment: datetime) -> date:
    try:
        return moment.astimezone(UTC).date()
    except OverflowError as error:
        raise ValueError("the year is not between 1990 and 2199") from error


def _checked(value: date) -> date:
    if not EARLIEST <= value <= LATEST:
        raise ValueError("the year is not between 1990 and 2199")
    return value


Converter = Callable[[pa.Array, str, Findings], pa.Array]
