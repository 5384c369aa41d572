"""Columns as files have them, into columns as the lake has them: text, amounts, days.

Each function takes a whole column of a batch. The usual form is converted in a few vector operations; only when that
fails are the distinct values looked at one by one. Raises BadCell for a value that fits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import ENUMERATIONS, fold
from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings
from finops.lake.schema import MONEY, MONEY_LIMIT

DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())
EARLIEST, LATEST = date(1990, 1, 1), date(2199, 12, 31)

_NULLS: Final = frozenset({"NULL", "null", "Null", ""})
_NULL_ARRAY: Final = pa.array(sorted(_NULLS))
_LONGEST_NULL: Final = 4
_SMALL: Final = 64
_ATTO: Final = Decimal(1).scaleb(-18)
_CONTEXT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)
_MOST_DIGITS: Final = 20
_SIGNS: Final = "$€£¥₹"
_PLAIN: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_THOUSANDS: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_US_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})(?:[ T]+\d{1,2}:\d{2}(?::\d{2})?)?", re.ASCII)


class Day(NamedTuple):
    """A day in UTC, and how it was written."""

    value: date
    us_date: bool = False
    no_zone: bool = False


class _Plan(NamedTuple):
    """What is to be done with the values of a small dictionary: per value, or None for nothing."""

    blank: pa.Array | None
    unknown: pa.Array | None
    respelled: tuple[str | None, ...] | None


def text(values: pa.Array, column: str, findings: Findings) -> pa.DictionaryArray:
    """Text, dictionary-encoded; the word NULL and blank text are null. Enumerated values get FOCUS's spelling."""
    encoded = _encoded(values, column)
    if len(encoded.dictionary) > _SMALL and column not in ENUMERATIONS:
        return _without(encoded, _blank(encoded.dictionary), column, findings)
    plan = _plan(column, tuple(encoded.dictionary.to_pylist()))
    encoded = _without(encoded, plan.blank, column, findings)
    if plan.unknown is not None:
        findings.cells("unknown_value", column, pc.take(plan.unknown, encoded.indices), encoded)
    return encoded if plan.respelled is None else _respelled(encoded, plan.respelled, column, findings)


def dense_text(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    """As `text`, but plain: for columns whose values are mostly different, where a dictionary only costs."""
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    try:
        plain = plain.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadCell(column, -1, values.type, "does not hold text") from error
    blank = _blank(plain)
    if blank is None:
        return plain
    findings.cells("null_text", column, blank, plain)
    return pc.if_else(pc.fill_null(blank, False), pa.scalar(None, pa.string()), plain)


def currency(values: pa.DictionaryArray, column: str, findings: Findings) -> pa.DictionaryArray:
    """Currency codes in capitals."""
    fixed = [_currency_code(value) for value in values.dictionary.to_pylist()]
    for place, (value, code) in enumerate(zip(values.dictionary.to_pylist(), fixed, strict=True)):
        if code is None and (index := pc.index(values.indices, place).as_py()) >= 0:
            raise BadCell(column, index, value, "is not a three-letter currency code such as USD")
    return _respelled(values, fixed, column, findings)


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
        raise BadCell(column, -1, values.type, "holds text that is not UTF-8") from error
    except pa.ArrowNotImplementedError as error:
        raise BadCell(column, -1, values.type, "does not hold text") from error


def _blank(values: pa.Array) -> pa.Array | None:
    """Which values mean nothing; None when no value does, which the lengths alone mostly say."""
    shortest = pc.min(pc.binary_length(values)).as_py()
    if shortest is None or shortest > _LONGEST_NULL:
        return None
    blank = pc.is_in(pc.utf8_trim_whitespace(values), value_set=_NULL_ARRAY)
    return blank if pc.any(blank).as_py() else None


@lru_cache(maxsize=4_096)
def _plan(column: str, values: tuple[str, ...]) -> _Plan:
    """Remembered, because batch after batch brings the same few values."""
    blank = [value.strip() in _NULLS for value in values]
    if column not in ENUMERATIONS:
        return _Plan(_flags(blank), None, None)
    spelled = [_SPELLINGS[column].get(fold(value)) for value in values]
    unknown = [right is None and not empty for right, empty in zip(spelled, blank, strict=True)]
    fixed = tuple(right or value for right, value in zip(spelled, values, strict=True))
    return _Plan(_flags(blank), _flags(unknown), None if fixed == values else fixed)


def _flags(flags: list[bool]) -> pa.Array | None:
    return pa.array(flags, pa.bool_()) if any(flags) else None


def _without(
    encoded: pa.DictionaryArray, blank: pa.Array | None, column: str, findings: Findings
) -> pa.DictionaryArray:
    """Null where the dictionary's value is blank. The dictionary stays, and may then hold unused values."""
    if blank is None:
        return encoded
    findings.cells("null_text", column, pc.take(blank, encoded.indices), encoded)
    size = len(encoded.dictionary)
    kept = pc.if_else(blank, pa.scalar(None, pa.int32()), pa.array(range(size), pa.int32()))
    return pa.DictionaryArray.from_arrays(kept.take(encoded.indices), encoded.dictionary)


_SPELLINGS: Final[Mapping[str, Mapping[str, str]]] = {
    column: {fold(value): value for value in values} for column, values in ENUMERATIONS.items()
}


def _respelled(
    encoded: pa.DictionaryArray, fixed: Sequence[str | None], column: str, findings: Findings
) -> pa.DictionaryArray:
    changed = _flags([new != old for new, old in zip(fixed, encoded.dictionary.to_pylist(), strict=True)])
    if changed is None:
        return encoded
    findings.cells("odd_case", column, pc.take(changed, encoded.indices), encoded)
    right = pa.array(fixed, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(right.indices.take(encoded.indices), right.dictionary)


def amount(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    """Exact decimals with 18 places. More places are rounded half to even, which the findings count."""
    decimals, large = _decimals(values, column, findings)
    if large is not None:
        raise BadCell(column, large, values[large].as_py(), "is too large: amounts stay below 10^15")
    return decimals


def quantity(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    """As `amount`, but what is too large to be added up becomes null, which the findings count.

    Some clouds bill byte-seconds; a bill must not fail over a quantity nobody pays by.
    """
    decimals, large = _decimals(values, column, findings)
    if large is None:
        return decimals
    outside = pc.or_kleene(
        pc.and_(pc.is_null(decimals), pc.is_valid(values)),
        pc.greater_equal(pc.abs(decimals), pa.scalar(MONEY_LIMIT, MONEY)),
    )
    outside = pc.fill_null(outside, False)
    findings.cells("quantity_too_large", column, outside, values)
    return pc.if_else(outside, pa.scalar(None, MONEY), decimals)


def _decimals(values: pa.Array, column: str, findings: Findings) -> tuple[pa.Array, int | None]:
    """The decimals, and the first place of one that is too large (null when it does not even fit the type)."""
    type_ = values.type
    if pa.types.is_floating(type_):
        findings.cells("floating_point", column, pc.is_valid(values))
    elif pa.types.is_decimal(type_) or pa.types.is_integer(type_):
        return _bounded(*_rescaled(values, column, findings))
    elif pa.types.is_dictionary(type_):
        values = values.dictionary_decode()
    if not _may_be_number(values.type):
        raise BadCell(column, -1, values.type, "does not hold numbers")
    return _bounded(*_from_text(values.cast(pa.string()), column, findings))


def _may_be_number(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null, pa.types.is_floating)
    return any(is_kind(type_) for is_kind in kinds)


def _bounded(decimals: pa.Array, large: int | None) -> tuple[pa.Array, int | None]:
    if large is not None:
        return decimals, large
    ends = pc.min_max(decimals).as_py()
    if ends["min"] is None or -MONEY_LIMIT < ends["min"] <= ends["max"] < MONEY_LIMIT:
        return decimals, None
    outside = pc.greater_equal(pc.abs(decimals), pa.scalar(MONEY_LIMIT, MONEY))
    return decimals, pc.index(pc.fill_null(outside, False), True).as_py()


def _rescaled(values: pa.Array, column: str, findings: Findings) -> tuple[pa.Array, int | None]:
    try:
        return values.cast(MONEY), None
    except pa.ArrowInvalid:
        return _from_text(values.cast(pa.string()), column, findings)


def _from_text(values: pa.Array, column: str, findings: Findings) -> tuple[pa.Array, int | None]:
    try:
        return values.cast(MONEY), None
    except pa.ArrowInvalid:
        missing = pc.is_in(values, value_set=_NULL_ARRAY)
    if pc.any(missing).as_py():
        findings.cells("null_text", column, missing, values)
        values = pc.if_else(missing, pa.scalar(None, pa.string()), values)
    try:
        return values.cast(MONEY), None
    except pa.ArrowInvalid:
        return _one_by_one(values, column, findings)


def _one_by_one(values: pa.Array, column: str, findings: Findings) -> tuple[pa.Array, int | None]:
    encoded = values.dictionary_encode()
    parsed: list[Decimal | None] = []
    large: list[int] = []
    flags: dict[str, list[bool]] = {}
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            number, found = parse_amount(value)
        except TooLarge:
            large.append(pc.index(encoded.indices, place).as_py())
            number, found = None, []
        except ValueError as error:
            raise BadCell(column, pc.index(encoded.indices, place).as_py(), value, str(error)) from error
        parsed.append(number)
        for kind in found:
            flags.setdefault(kind, [False] * len(encoded.dictionary))[place] = True
    for kind, mask in flags.items():
        findings.cells(kind, column, pa.array(mask).take(encoded.indices), values)
    return pa.array(parsed, MONEY).take(encoded.indices), min(large, default=None)


class TooLarge(ValueError):
    """A number with more than 20 digits before the point, which the lake's type does not hold."""


def parse_amount(value: str) -> tuple[Decimal | None, list[str]]:
    """An amount as people write it, and which liberties it took. ValueError when it is none, TooLarge at 10^20.

    `$1,234.50 ` and `(5.00)` and `1.5E-7` are amounts; a decimal comma is not, because `1,234` would mean two things.
    """
    found, bare = [], value.strip()
    if bare != value:
        found.append("spaces_around_amount")
    if bare in _NULLS:
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
        return "is not a number: FOCUS writes a decimal point, not a comma"
    return "is not a number"


def _exact(bare: str, found: list[str]) -> Decimal:
    number = Decimal(bare)
    if number.adjusted() >= _MOST_DIGITS and number:
        raise TooLarge("is too large")
    rounded = number.quantize(_ATTO, context=_CONTEXT)
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
        raise BadCell(column, index, days[index].cast(pa.string()), "is not between the years 1990 and 2199")
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
        raise ValueError("is not a date and time such as 2026-05-01T00:00:00Z") from error
    if moment.tzinfo is None:
        return Day(_checked(moment.date()), no_zone=True)
    return Day(_checked(_in_utc(moment)))


def _us_date(month: int, day_: int, year: str) -> date:
    try:
        return date(int(year) + (2000 if len(year) == 2 else 0), month, day_)
    except ValueError as error:
        raise ValueError(
            "is not a date as month/day/year, which is how dates with slashes are read. Write 2026-05-01"
        ) from error


def _in_utc(moment: datetime) -> date:
    try:
        return moment.astimezone(UTC).date()
    except OverflowError as error:
        raise ValueError("is not between the years 1990 and 2199") from error


def _checked(value: date) -> date:
    if not EARLIEST <= value <= LATEST:
        raise ValueError("is not between the years 1990 and 2199")
    return value
