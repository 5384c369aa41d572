"""Convert columns of files to columns of the lake: texts and days.

Each function converts a whole column of a batch. The usual form is converted in a few vector operations; only if that
fails are the distinct values parsed one by one. Raises BadCell for a value that cannot be converted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.columns import ENUMERATIONS, fold
from finops.costs.focus.errors import CAST_ERRORS, UNSUPPORTED_CAST, BadCell
from finops.costs.focus.formats import Formats
from finops.costs.focus.report import Findings
from finops.costs.focus.values import (
    EARLIEST,
    LATEST,
    NULLS,
    DateOrder,
    UtcDay,
    needs_order,
    parse_day,
    parse_moment,
)

DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())

_NULL_ARRAY: Final = pa.array(sorted(NULLS))
_LONGEST_NULL: Final = 4
_SMALL: Final = 64

FURTHEST_ZONE: Final = timedelta(hours=14)
"""The largest offset of a time zone ahead of UTC."""


class _Plan(NamedTuple):
    """The operation on each value of a small dictionary, or None for none."""

    blank: pa.Array | None
    unknown: pa.Array | None
    respelled: tuple[str | None, ...] | None


def text(values: pa.Array, column: str, findings: Findings) -> pa.DictionaryArray:
    """Convert text, dictionary-encoded; the word NULL and blank text become null. Enumerations get FOCUS's spelling."""
    encoded = _encode(values, column)
    if len(encoded.dictionary) > _SMALL and column not in ENUMERATIONS:
        return _blank_to_null(encoded, _blank(encoded.dictionary), column, findings)
    plan = _plan(column, tuple(encoded.dictionary.to_pylist()))
    encoded = _blank_to_null(encoded, plan.blank, column, findings)
    if plan.unknown is not None:
        findings.cells("unknown_value", column, pc.take(plan.unknown, encoded.indices), encoded)
    return encoded if plan.respelled is None else _respell(encoded, plan.respelled, column, findings)


def dense_text(values: pa.Array, column: str, findings: Findings) -> pa.Array:
    """Convert text as `text`, but without a dictionary: for columns with mostly different values.

    Raises BadCell for a type that is not text.
    """
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    try:
        plain = plain.cast(pa.string())
    except CAST_ERRORS as error:
        raise BadCell(column, -1, values.type, "does not hold text") from error
    blank = _blank(plain)
    if blank is None:
        return plain
    findings.cells("null_text", column, blank, plain)
    return pc.if_else(pc.fill_null(blank, False), pa.scalar(None, pa.string()), plain)


def currency(values: pa.DictionaryArray, column: str, findings: Findings) -> pa.DictionaryArray:
    """Return currency codes in capitals (ISO 4217). Raises BadCell unless a value has three letters."""
    fixed = [_currency_code(value) for value in values.dictionary.to_pylist()]
    for place, (value, code) in enumerate(zip(values.dictionary.to_pylist(), fixed, strict=True)):
        if code is None and (index := pc.index(values.indices, place).as_py()) >= 0:
            raise BadCell(column, index, value, "is not a three-letter currency code such as USD")
    return _respell(values, fixed, column, findings)


def _currency_code(value: str) -> str | None:
    code = value.strip().upper()
    return code if len(code) == 3 and code.isascii() and code.isalpha() else None


def _encode(values: pa.Array, column: str) -> pa.DictionaryArray:
    if values.type == DICTIONARY:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        return values.cast(pa.string()).dictionary_encode()
    except pa.ArrowInvalid as error:
        raise BadCell(column, -1, values.type, "holds text that is not UTF-8") from error
    except UNSUPPORTED_CAST as error:
        raise BadCell(column, -1, values.type, "does not hold text") from error


def _blank(values: pa.Array) -> pa.Array | None:
    """Return a mask of values that mean null; None if there are none, which the lengths alone usually show."""
    shortest = pc.min(pc.binary_length(values)).as_py()
    if shortest is None or shortest > _LONGEST_NULL:
        return None
    blank = pc.is_in(pc.utf8_trim_whitespace(values), value_set=_NULL_ARRAY)
    return blank if pc.any(blank).as_py() else None


@lru_cache(maxsize=4_096)
def _plan(column: str, values: tuple[str, ...]) -> _Plan:
    """Cached, because successive batches have the same few values."""
    blank = [value.strip() in NULLS for value in values]
    if column not in ENUMERATIONS:
        return _Plan(_flags(blank), None, None)
    spelled = [_SPELLINGS[column].get(fold(value)) for value in values]
    unknown = [right is None and not empty for right, empty in zip(spelled, blank, strict=True)]
    fixed = tuple(right or value for right, value in zip(spelled, values, strict=True))
    return _Plan(_flags(blank), _flags(unknown), None if fixed == values else fixed)


def _flags(flags: list[bool]) -> pa.Array | None:
    return pa.array(flags, pa.bool_()) if any(flags) else None


def _blank_to_null(
    encoded: pa.DictionaryArray, blank: pa.Array | None, column: str, findings: Findings
) -> pa.DictionaryArray:
    """Set nulls where the dictionary's value is blank. The dictionary stays, and may have unused values."""
    if blank is None:
        return encoded
    findings.cells("null_text", column, pc.take(blank, encoded.indices), encoded)
    size = len(encoded.dictionary)
    indices = pc.if_else(blank, pa.scalar(None, pa.int32()), pa.array(range(size), pa.int32()))
    return pa.DictionaryArray.from_arrays(indices.take(encoded.indices), encoded.dictionary)


_SPELLINGS: Final[Mapping[str, Mapping[str, str]]] = {
    column: {fold(value): value for value in values} for column, values in ENUMERATIONS.items()
}


def _respell(
    encoded: pa.DictionaryArray, fixed: Sequence[str | None], column: str, findings: Findings
) -> pa.DictionaryArray:
    changed = _flags([new != old for new, old in zip(fixed, encoded.dictionary.to_pylist(), strict=True)])
    if changed is None:
        return encoded
    findings.cells("odd_case", column, pc.take(changed, encoded.indices), encoded)
    right = pa.array(fixed, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(right.indices.take(encoded.indices), right.dictionary)


def day(values: pa.Array, column: str, findings: Findings, formats: Formats) -> pa.Array:
    """Convert texts, timestamps or dates to UTC days as date32."""
    if pa.types.is_date(values.type):
        return _check_range(values.cast(pa.date32()), column)
    if pa.types.is_timestamp(values.type):
        return _check_range(_utc(values, column, findings).cast(pa.date32(), safe=False), column)
    return _days_of_text(text(values, column, findings), column, findings, formats)


def period(values: pa.Array, column: str, findings: Findings, formats: Formats) -> pa.Array:
    """Return the first days of billing periods, in the month that the line names.

    A period in local time starts up to 14 hours before its month does in UTC: 2026-08-31T22:00:00Z and
    2026-09-01T00:00:00+02:00 start September. It belongs to the month 14 hours later; a period that starts in its own
    month keeps its day.
    """
    if pa.types.is_timestamp(values.type):
        moments = _utc(values, column, findings).cast(pa.timestamp("us"), safe=False)
        return _check_range(_in_named_month(moments), column)
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
    ends = pc.min_max(moments)
    if len(moments) > 1 and not moments.null_count and ends["min"].equals(ends["max"]):  # as in most files
        return pa.repeat(_in_named_month(moments[:1])[0], len(moments))
    later = pc.floor_temporal(pc.add(moments, pa.scalar(FURTHEST_ZONE, pa.duration("us"))), unit="month")
    return pc.max_element_wise(later, pc.floor_temporal(moments, unit="day"), skip_nulls=False).cast(
        pa.date32()
    )


@lru_cache(maxsize=4_096)
def _local_month(value: str) -> date | None:
    """Return the first day of the month of a period in local time, if in UTC it starts the day before."""
    if needs_order(value):
        return None
    try:
        moment = parse_moment(value)
        start = moment.astimezone(UTC) if moment.tzinfo else moment
        later = start + FURTHEST_ZONE
    except (ValueError, OverflowError):
        return None
    return later.date().replace(day=1) if (later.year, later.month) != (start.year, start.month) else None


def _check_range(days: pa.Array, column: str) -> pa.Array:
    outside = pc.or_(pc.less(days, pa.scalar(EARLIEST)), pc.greater(days, pa.scalar(LATEST)))
    index = pc.index(pc.fill_null(outside, False), True).as_py()
    if index >= 0:
        raise BadCell(column, index, days[index].cast(pa.string()), "is not between the years 1990 and 2199")
    return days


def _days_of_text(encoded: pa.DictionaryArray, column: str, findings: Findings, formats: Formats) -> pa.Array:
    days: list[UtcDay] = []
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            days.append(_day(value, formats))
        except ValueError as error:
            index = pc.index(encoded.indices, place).as_py()
            if index >= 0:
                raise BadCell(column, index, value, str(error)) from error
            days.append(UtcDay(EARLIEST))
    for kind, order in (("us_date", DateOrder.MONTH_FIRST), ("day_first_date", DateOrder.DAY_FIRST)):
        _count_days(encoded, column, findings, kind, [parsed.order is order for parsed in days])
    _count_days(encoded, column, findings, "no_zone", [parsed.no_zone for parsed in days])
    return pa.array([parsed.value for parsed in days], pa.date32()).take(encoded.indices)


def _count_days(
    encoded: pa.DictionaryArray, column: str, findings: Findings, kind: str, flags: list[bool]
) -> None:
    if any(flags):
        findings.cells(kind, column, pa.array(flags).take(encoded.indices), encoded)


_days: dict[str, UtcDay] = {}


def _day(value: str, formats: Formats) -> UtcDay:
    """Parse a day, cached: a file has the same hours many times."""
    parsed = _days.get(value)
    if parsed is None:
        if needs_order(value):  # the order of day and month differs between files
            return _parse_ordered_day(value, formats)
        if len(_days) > 50_000:
            _days.clear()
        parsed = _days[value] = parse_day(value)
    return parsed


def _parse_ordered_day(value: str, formats: Formats) -> UtcDay:
    order = formats.date_order()
    try:
        return parse_day(value, order)
    except ValueError as error:
        because = f", the order of the file ({formats.dates_because})" if formats.dates_because else ""
        raise ValueError(f"{error}{because}") from error
