"""Numbers of an export that are used in calculations: quantities and prices, also with decimal commas.

Copied values stay as written, because the importer decides the number format once for the whole file.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts
from finops.costs.focus.errors import BadCell
from finops.costs.focus.formats import readings
from finops.costs.focus.report import Findings
from finops.lake.schema import MONEY, MONEY_LIMIT

_WIDE: Final = pa.decimal256(37, 18)
_SCALE: Final = 18


def decimals(values: pa.Array) -> pa.Array:
    """Return exact decimals; null for invalid numbers, and for the whole batch if its commas are ambiguous."""
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    is_text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
    if not is_text or not pc.any(pc.match_substring(plain, ",")).as_py():
        try:
            return amounts.amount(plain, "", Findings(), None)
        except BadCell:
            return _each(plain)
    return _each(plain)


def _each(values: pa.Array) -> pa.Array:
    """Convert number by number, each different one once."""
    try:
        encoded = values.cast(pa.string()).dictionary_encode()
    except pa.ArrowException:
        return pa.nulls(len(values), MONEY)
    both = [readings(text) for text in encoded.dictionary.to_pylist()]
    with_comma = any(point is None and comma is not None for point, comma in both)
    with_point = any(comma is None and point is not None for point, comma in both)
    if with_comma == with_point and any(point != comma for point, comma in both):
        return pa.nulls(len(values), MONEY)
    numbers = [_within_limit(comma if with_comma else point) for point, comma in both]
    return pa.array(numbers, MONEY).take(encoded.indices)


def _within_limit(number: Decimal | None) -> Decimal | None:
    return number if number is not None and abs(number) < MONEY_LIMIT else None


def product(*factors: pa.Array) -> pa.Array:
    """Return the product of decimal columns, to 18 places, half to even; null if a factor is, or if too large."""
    result = factors[0]
    for factor in factors[1:]:
        wide = pc.round(
            pc.multiply(result.cast(_WIDE), factor.cast(_WIDE)), ndigits=_SCALE, round_mode="half_to_even"
        )
        small = pc.less(pc.abs(wide), pa.scalar(MONEY_LIMIT).cast(wide.type))
        result = pc.if_else(small, wide, pa.scalar(None, wide.type)).cast(MONEY)
    return result
