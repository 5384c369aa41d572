"""Columns of amounts and quantities as exact decimals, whole columns at once.

Only if a column has texts other than plain numbers are its distinct values parsed one by one. Raises BadCell for a
value that is not a number, and for an amount that is too large.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.doubles import decimals_of
from finops.costs.focus.errors import BadCell
from finops.costs.focus.formats import Formats, readings
from finops.costs.focus.report import Findings
from finops.costs.focus.values import (
    MOST_DIGITS,
    NO_NUMBER,
    NumberFormat,
    TooLarge,
    parse_amount,
    usual_pattern,
)
from finops.lake.schema import MONEY, MONEY_LIMIT

_NO_NUMBER_ARRAY: Final = pa.array(sorted(NO_NUMBER))
_MOST_DIGITS_OF_DECIMALS: Final = 38
_FAR: Final = 10.0**MOST_DIGITS
_SMALL: Final = 0.01
"""From this value on, a double of 17 digits has at most 18 decimals."""


def amount(values: pa.Array, column: str, findings: Findings, formats: Formats | None) -> pa.Array:
    """Return exact decimals with 18 places. More places are rounded half to even, counted in the findings. Raises
    BadCell from 10^15 on. `formats` is None for numbers that never have a decimal comma."""
    decimals, large = _decimals(values, column, findings, formats)
    if large is not None:
        raise BadCell(column, large, values[large].as_py(), "is too large: amounts must be below 10^15")
    return decimals


def quantity(values: pa.Array, column: str, findings: Findings, formats: Formats | None) -> pa.Array:
    """Return decimals as `amount`, but values too large to be summed become null, counted in the findings.

    Some clouds bill byte-seconds; a bill must not fail because of a quantity that is not priced.
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
    values: pa.Array, column: str, findings: Findings, formats: Formats | None
) -> tuple[pa.Array, int | None]:
    """Return the decimals, and the first index of one that is too large (null if it does not fit the type)."""
    type_ = values.type
    if pa.types.is_floating(type_):
        findings.cells("floating_point", column, pc.is_valid(values))
        if pa.types.is_float64(type_):
            return _check_bounds(*_from_doubles(values, column, findings))
    elif pa.types.is_decimal(type_) or pa.types.is_integer(type_):
        return _check_bounds(*_rescale(values, column, findings))
    elif pa.types.is_dictionary(type_):
        values = values.dictionary_decode()
    if not _may_be_number(values.type):
        raise BadCell(column, -1, values.type, "does not hold numbers")
    text_ = values.cast(pa.string())
    return _check_bounds(
        *_from_text(text_, column, findings, None if pa.types.is_floating(type_) else formats)
    )


def _may_be_number(type_: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null, pa.types.is_floating)
    return any(is_kind(type_) for is_kind in kinds)


def _check_bounds(decimals: pa.Array, large: int | None) -> tuple[pa.Array, int | None]:
    if large is not None:
        return decimals, large
    ends = pc.min_max(decimals).as_py()
    if ends["min"] is None or -MONEY_LIMIT < ends["min"] <= ends["max"] < MONEY_LIMIT:
        return decimals, None
    outside = pc.greater_equal(pc.abs(decimals), pa.scalar(MONEY_LIMIT, MONEY))
    return decimals, pc.index(pc.fill_null(outside, False), True).as_py()


def _rescale(values: pa.Array, column: str, findings: Findings) -> tuple[pa.Array, int | None]:
    try:
        return values.cast(MONEY), None
    except pa.ArrowInvalid:
        return _from_text(values.cast(pa.string()), column, findings, None)


def _from_doubles(values: pa.DoubleArray, column: str, findings: Findings) -> tuple[pa.Array, int | None]:
    converted = decimals_of(values)
    if pc.any(converted.rounded).as_py():
        findings.cells("rounded", column, converted.rounded, values.cast(pa.string()))
    decimals, first_large = converted.values, None
    if not pc.any(converted.remaining).as_py():
        return decimals, None
    # Separate, because one value with more than 18 decimals makes all values of its array be read one by one.
    is_small = pc.less(pc.abs(values), _SMALL)
    for part in (pc.and_(converted.remaining, is_small), pc.and_not(converted.remaining, is_small)):
        texts = values.filter(part).cast(pa.string())
        if len(texts):
            texts = pc.replace_with_mask(pa.nulls(len(values), pa.string()), part, texts)
            parsed, large = _from_text(texts, column, findings, None)
            decimals = pc.coalesce(decimals, parsed)
            first_large = large if first_large is None else first_large
    return decimals, first_large


def _from_text(
    values: pa.Array, column: str, findings: Findings, formats: Formats | None
) -> tuple[pa.Array, int | None]:
    """Convert texts; `formats` is None for numbers that are stored as such."""
    number_format = formats.numbers if formats else None
    decimals = None if number_format is NumberFormat.COMMA else _plain(values)
    if decimals is not None:
        return decimals, None
    missing = pc.is_in(values, value_set=_NO_NUMBER_ARRAY)
    if pc.any(missing).as_py():
        findings.cells("null_text", column, missing, values)
        values = pc.if_else(missing, pa.scalar(None, pa.string()), values)
        decimals = None if number_format is NumberFormat.COMMA else _plain(values)
        if decimals is not None:
            return decimals, None
    if formats and number_format is None and _has_separators(values):
        number_format = formats.number_format_midway()
    decimals_of_form = _parse_usual_form(values, column, findings, number_format or NumberFormat.POINT)
    return (decimals_of_form, None) if decimals_of_form else _parse_each(values, column, findings, formats)


def _plain(values: pa.Array) -> pa.Array | None:
    """Return numbers with a decimal point as decimals; None if any value is another text."""
    if not _fits(values):
        return None
    try:
        return values.cast(MONEY)
    except pa.ArrowInvalid:
        return None


def _fits(values: pa.Array) -> bool:
    """Return whether pyarrow's cast of text to decimals is correct: beyond 128 bits it wraps around without an error,
    so that 2^128 + 1 becomes 1. Usually lengths and missing exponents show it: 0.1 ms of a batch's 6."""
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest <= MOST_DIGITS and not _has_exponent(values):
        return True
    if longest > _MOST_DIGITS_OF_DECIMALS:
        return False
    try:
        ends = pc.min_max(values.cast(pa.float64())).as_py()
    except pa.ArrowInvalid:
        return False
    return bool(ends["min"] is None or -_FAR < ends["min"] <= ends["max"] < _FAR)


def _has_exponent(values: pa.Array) -> bool:
    """Return whether any value may have an exponent, by searching the text of all values in memory."""
    text_ = values.buffers()[2]
    whole = text_.to_pybytes() if text_ is not None else b""
    return b"e" in whole or b"E" in whole


def _has_separators(values: pa.Array) -> bool:
    """Return whether any value may be read differently than with a decimal point."""
    return bool(pc.any(pc.match_substring_regex(values, r",|\..*\.")).as_py())


def _parse_usual_form(
    values: pa.Array, column: str, findings: Findings, format_: NumberFormat
) -> pa.Array | None:
    """Convert all values at once if each is plain or has thousands separators; else None."""
    pattern, thousands, decimal = usual_pattern(format_)
    if not pc.all(pc.match_substring_regex(values, pattern)).as_py():
        return None
    plain = pc.replace_substring(values, thousands, "")
    decimals = _plain(pc.replace_substring(plain, decimal, "."))
    if decimals is None:
        return None
    findings.cells("thousands_separator", column, pc.match_substring(values, thousands), values)
    return decimals


def _parse_each(
    values: pa.Array, column: str, findings: Findings, formats: Formats | None
) -> tuple[pa.Array, int | None]:
    format_ = (formats.numbers if formats else None) or NumberFormat.POINT
    encoded = values.dictionary_encode()
    parsed: list[Decimal | None] = []
    large: list[int] = []
    flags: dict[str, list[bool]] = {}
    for place, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            number, kinds = parse_amount(value, format_)
        except TooLarge:
            large.append(pc.index(encoded.indices, place).as_py())
            number, kinds = None, []
        except ValueError as error:
            index = pc.index(encoded.indices, place).as_py()
            raise BadCell(column, index, value, _other_format(value, formats) or str(error)) from error
        parsed.append(number)
        for kind in kinds:
            flags.setdefault(kind, [False] * len(encoded.dictionary))[place] = True
    for kind, mask in flags.items():
        findings.cells(kind, column, pa.array(mask).take(encoded.indices), values)
    return pa.array(parsed, MONEY).take(encoded.indices), min(large, default=None)


def _other_format(value: str, formats: Formats | None) -> str:
    """Return the reason if a value is a number of the other format, with the value that decided the file's format."""
    if formats is None or formats.numbers is None or readings(value) == (None, None):
        return ""
    file, this = ("point", "comma") if formats.numbers is NumberFormat.POINT else ("comma", "point")
    because = f" ({formats.numbers_because})" if formats.numbers_because else ""
    return f"has a decimal {this}, and the numbers of the file have a decimal {file}{because}"
