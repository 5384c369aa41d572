"""Reading columns that no sum, day or name rests on: a bad value is left out, not the file."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings

Converter = Callable[[pa.Array, str, Findings], pa.Array]
"""Of convert.py: from a column as the file has it to one as the lake has it; BadCell for a value that is none."""


def convert_leniently(
    convert: Converter,
    type_: pa.DataType,
    values: pa.Array,
    column: str,
    findings: Findings,
) -> pa.Array:
    """As `read` does, but what it refuses becomes null, which the findings count."""
    try:
        return convert(values, column, findings)
    except BadCell as bad:
        if bad.index < 0:
            findings.cells("unreadable", column, pc.is_valid(values))
            return pa.nulls(len(values), type_)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    ones = [encoded.dictionary.slice(place, 1) for place in range(len(encoded.dictionary))]
    refused = pa.array([_refuses(convert, one, column) for one in ones]).take(encoded.indices)
    findings.cells("unreadable", column, refused, values)
    readable = pc.if_else(refused, pa.scalar(None, ones[0].type), encoded.dictionary_decode())
    return convert(
        readable, column, Findings()
    )  # its liberties were counted up to the first that was refused


def _refuses(convert: Converter, one: pa.Array, column: str) -> bool:
    try:
        convert(one, column, Findings())
    except BadCell:
        return True
    return False
