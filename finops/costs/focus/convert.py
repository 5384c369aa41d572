"""Columns as files have them, into columns as the lake has them: text, amounts, days.

Each function takes a whole column of a batch. The usual form is converted in a few vector operations; only when that
fails are the distinct values looked at one by one. Raises BadCell for a value that fits nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import ENUMERATIONS, fold
from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings
from finops.costs.focus.formats import Formats, readings
from finops.costs.focus.values import (
    EARLIEST,
    LATEST,
    NO_NUMBER,
    NULLS,
    DateOrder,
    Day,
    NumberFormat,
    TooLarge,
    needs_order,
    parse_amount,
    parse_day,
    parse_moment,
    usual,
)
from finops.lake.schema import MONEY, MONEY_LIMIT

DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())

_NULL_ARRAY: Final = pa.array(sorted(NULLS))
_NO_NUMBER_ARRAY: Final = pa.array(sorted(NO_NUMBER))
_LONGEST_NULL: Final = 4
_SMALL: Final = 64

FURTHEST_ZONE: Final = timedelta(hours=14)
"""No zone is further ahead of UTC."""


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
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:  # pyarrow's class: no such cast
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
    except pa.ArrowNotImplementedError as error:  # pyarrow's class: no such cast
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
    blank = [value.strip() in NULLS for value in values]
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


def amount(values: pa.Array, column: str, findings: Findings, formats: Formats) -> pa.Array:
    """Exact decimals with 18 places. More places are rounded half to even, which the findings count."""
    decimals, large = _decimals(values, column, findings, formats)
    if large is not None:
        raise BadCell(column, large, values[large].as_py(), "is too large: amounts stay below 10^15")
    return decimals


def quantity(values: pa.Array, column: str, findings: Findings, formats: Formats) -> pa.Array:
    """As `amount`, but what is too large to be added up becomes null, which the findings count.

    Some clouds bill byte-seconds; a bill must not fail over a quantity nobody pays by.
    """
    decimals, large = _decimals(values, column, findings, formats)
    if large is None:
        return decimals
    outside = pc.or_kleene(
        pc.and_(pc.is_null(decimals), pc.is_valid(values)),
        pc.greater_equal(pc.abs(decimals), pa.scalar(MONEY_LIMIT, MONEY)),
    )
    outside = pc.fill_null(outside, False)
    findings.cells("quantity_too_large", column, outside, values)
    return pc.if_else(outside, pa.scalar(None, MONEY), decimals)


def _decimals(
    values: pa.Array, column: str, findings: Findings, formats: Formats
) -> tuple[pa.Array, int | None]:
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
    text_ = values.cast(pa.string())
    return _bounded(*_from_text(text_, column, findings, None if pa.types.is_floating(type_) else formats))


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
        return _from_text(values.cast(pa.string()), column, findings, None)


def _from_text(
    values: pa.Array, column: str, findings: Findings, formats: Formats | None
) -> tuple[pa.Array, int | None]:
    """`formats` is None for numbers that are stored as such."""
    known = formats.numbers if formats else None
    if known is not NumberFormat.COMMA:
        try:
            return values.cast(MONEY), None
        except pa.ArrowInvalid:
            pass
    missing = pc.is_in(values, value_set=_NO_NUMBER_ARRAY)
    if pc.any(missing).as_py():
        findings.cells("null_text", column, missing, values)
        values = pc.if_else(missing, pa.scalar(None, pa.string()), values)
        if known is not NumberFormat.COMMA:
            try:
                return values.cast(MONEY), None
            except pa.ArrowInvalid:
                pass
    if formats and known is None and _has_separators(values):
        known = formats.number_format_midway()
    found = _of_usual_form(values, column, findings, known or NumberFormat.POINT)
    return (found, None) if found else _one_by_one(values, column, findings, formats)


def _has_separators(values: pa.Array) -> bool:
    """Whether a value may have another reading than the one with a decimal point."""
    return bool(pc.any(pc.match_substring_regex(values, r",|\..*\.")).as_py())


def _of_usual_form(
    values: pa.Array, column: str, findings: Findings, format_: NumberFormat
) -> pa.Array | None:
    """All values at once when each is plain or has thousands apart; else None."""
    pattern, thousands, decimal = usual(format_)
    if not pc.all(pc.match_substring_regex(values, pattern)).as_py():
        return None
    plain = pc.replace_substring(values, thousands, "")
    try:
        decimals = pc.replace_substring(plain, decimal, ".").cast(MONEY)
    except pa.ArrowInvalid:
        return None
    findings.cells("thousands_separator", column, pc.match_substring(values, thousands), values)
    return decimals


def _one_by_one(
    values: pa.Array, column: str, findings: Findings, formats: Formats | None
) -> tuple[pa.Array, int | None]:
    format_ = (formats.numbers if formats else None) or NumberFormat.POINT
    encoded = values.dictionary_encode()
    parsed: list[Decimal | None] = []
    large: list[int] = []
    flags: dict[str, list[bool]] = {}
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            number, found = parse_amount(value, format_)
        except TooLarge:
            large.append(pc.index(encoded.indices, place).as_py())
            number, found = None, []
        except ValueError as error:
            index = pc.index(encoded.indices, place).as_py()
            raise BadCell(column, index, value, _other_format(value, formats) or str(error)) from error
        parsed.append(number)
        for kind in found:
            flags.setdefault(kind, [False] * len(encoded.dictionary))[place] = True
    for kind, mask in flags.items():
        findings.cells(kind, column, pa.array(mask).take(encoded.indices), values)
    return pa.array(parsed, MONEY).take(encoded.indices), min(large, default=None)


def _other_format(value: str, formats: Formats | None) -> str:
    """That a value is a number of the other format, and why the file's is not that one."""
    if formats is None or formats.numbers is None or readings(value) == (None, None):
        return ""
    file, this = ("point", "comma") if formats.numbers is NumberFormat.POINT else ("comma", "point")
    because = f" ({formats.numbers_because})" if formats.numbers_because else ""
    return f"has a decimal {this}, and the numbers of the file have a decimal {file}{because}"


def day(values: pa.Array, column: str, findings: Findings, formats: Formats) -> pa.Array:
    """UTC days as date32 of texts, timestamps or dates."""
    if pa.types.is_date(values.type):
        return _within(values.cast(pa.date32()), column)
    if pa.types.is_timestamp(values.type):
        return _within(_utc(values, column, findings).cast(pa.date32(), safe=False), column)
    return _days_of_text(text(values, column, findings), column, findings, formats)


def period(values: pa.Array, column: str, findings: Findings, formats: Formats) -> pa.Array:
    """The first days of billing periods, in the month that the line names.

    A period of local time begins up to 14 hours before its month does in UTC: 2026-08-31T22:00:00Z and
    2026-09-01T00:00:00+02:00 begin September. It is the month in which the moment 14 hours later lies; a period that
    begins in its own month keeps its day.
    """
    if pa.types.is_timestamp(values.type):
        moments = _utc(values, column, findings).cast(pa.timestamp("us"), safe=False)
        return _within(_in_named_month(moments), column)
    if pa.types.is_date(values.type):
        return day(values, column, findings, formats)
    encoded = text(values, column, findings)
    days = _days_of_text(encoded, column, findings, formats)
    shifted = [_local_month(value) for value in encoded.dictionary.to_pylist()]
    if not any(shifted):
        return days
    return pc.coalesce(pa.array(shifted, pa.date32()).take(encoded.indices), days)


def _utc(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    if values.type.tz is None:
        findings.cells("no_zone", column, pc.is_valid(values))
    return values.cast(pa.timestamp(values.type.unit))


def _in_named_month(moments: pa.Array) -> pa.Array:
    later = pc.floor_temporal(pc.add(moments, pa.scalar(FURTHEST_ZONE, pa.duration("us"))), unit="month")
    return pc.max_element_wise(later, pc.floor_temporal(moments, unit="day"), skip_nulls=False).cast(
        pa.date32()
    )


@lru_cache(maxsize=4_096)
def _local_month(value: str) -> date | None:
    """The first day of the month in which a period of local time begins, when in UTC that is the day before."""
    if needs_order(value):
        return None
    try:
        moment = parse_moment(value)
        start = moment.astimezone(UTC) if moment.tzinfo else moment
        later = start + FURTHEST_ZONE
    except (ValueError, OverflowError):
        return None
    return later.date().replace(day=1) if (later.year, later.month) != (start.year, start.month) else None


def _within(days: pa.Array, column: str) -> pa.Array:
    outside = pc.or_(pc.less(days, pa.scalar(EARLIEST)), pc.greater(days, pa.scalar(LATEST)))
    index = pc.index(pc.fill_null(outside, False), True).as_py()
    if index >= 0:
        raise BadCell(column, index, days[index].cast(pa.string()), "is not between the years 1990 and 2199")
    return days


def _days_of_text(encoded: pa.DictionaryArray, column: str, findings: Findings, formats: Formats) -> pa.Array:
    days: list[Day] = []
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            days.append(_day(value, formats))
        except ValueError as error:
            index = pc.index(encoded.indices, place).as_py()
            if index >= 0:
                raise BadCell(column, index, value, str(error)) from error
            days.append(Day(EARLIEST))
    for kind, order in (("us_date", DateOrder.MONTH_FIRST), ("day_first_date", DateOrder.DAY_FIRST)):
        _count_days(encoded, column, findings, kind, [found.order is order for found in days])
    _count_days(encoded, column, findings, "no_zone", [found.no_zone for found in days])
    return pa.array([found.value for found in days], pa.date32()).take(encoded.indices)


def _count_days(
    encoded: pa.DictionaryArray, column: str, findings: Findings, kind: str, flags: list[bool]
) -> None:
    if any(flags):
        findings.cells(kind, column, pa.array(flags).take(encoded.indices), encoded)


_days: dict[str, Day] = {}


def _day(value: str, formats: Formats) -> Day:
    """parse_day, remembered: a file names the same hours again and again."""
    known = _days.get(value)
    if known is None:
        if needs_order(value):  # which means another day in another file
            return _ordered_day(value, formats)
        if len(_days) > 50_000:
            _days.clear()
        known = _days[value] = parse_day(value)
    return known


def _ordered_day(value: str, formats: Formats) -> Day:
    order = formats.date_order()
    try:
        return parse_day(value, order)
    except ValueError as error:
        because = f", the order of the file ({formats.dates_because})" if formats.dates_because else ""
        raise ValueError(f"{error}{because}") from error
