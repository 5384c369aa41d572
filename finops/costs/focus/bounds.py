"""What a file may make of its bytes: a few kilobytes of Parquet can hold 64 KB in each of 65,536 rows, which is 4 GB.

Values are measured before they are decoded: a dictionary's values by their lengths and how often each is meant. So a file
that goes too far is refused with the row and column, and costs no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import columns as spec
from finops.costs.focus.errors import FocusFileError, display_value

BATCH_ROWS: Final = 1 << 16
"""Rows that are decoded at once."""

LONGEST: Final = 64 << 10
"""Bytes of a value."""

LONGEST_JSON: Final = 1 << 20
"""Bytes of a value of tags and of other columns that hold JSON."""

COLUMN_BYTES: Final = 128 << 20
"""Text of a column in one batch, decoded: 2 KB a row on average."""

TAGS_BYTES: Final = 256 << 20
"""The same of tags, which are split into a column each and never stored as they are: 4 KB."""

BATCH_BYTES: Final = 512 << 20
"""All columns of a batch, as they lie in memory."""

GATHERED_BYTES: Final = 64 << 20
"""Small batches are taken together up to this size."""

_JSON: Final = frozenset({spec.fold(name) for name in (spec.TAGS, *spec.DETAILS)})

Where = Callable[[int], str]
"""How a message names a row of the batch."""


def check_column(values: pa.Array, column: str, name: str, where: Where) -> None:
    """FocusFileError for a value longer than its column may have, or more text than a batch may have. Nothing of a
    dictionary is decoded. Cost: a few vector operations, mostly over a small dictionary."""
    fold = spec.fold(column)
    longest = LONGEST_JSON if fold in _JSON else LONGEST
    most = TAGS_BYTES if fold == spec.fold(spec.TAGS) else COLUMN_BYTES
    flat = not pa.types.is_nested(values.type)
    leaves = list(_leaves(values))
    small = COLUMN_BYTES // max(1, len(leaves))
    total = sum(_measure(leaf, column, name, longest, where if flat else None, small) for leaf in leaves)
    if total > most:
        raise FocusFileError(
            f"{name}, {where(0)} and the {len(values) - 1:,} rows after it: the values of column {display_value(column)} come to "
            f"{total >> 20:,} MB. {BATCH_ROWS:,} rows may have {most >> 20} MB of one column. "
            "Shorten the values, or leave the column out."
        )


def check_batch(size: int, name: str, where: Where) -> None:
    """FocusFileError for a batch of so many bytes in memory, all columns together."""
    if size > BATCH_BYTES:
        raise FocusFileError(
            f"{name}, from {where(0)} on: {BATCH_ROWS:,} rows hold {size >> 20:,} MB. They may hold {BATCH_BYTES >> 20} MB. "
            "Leave out columns that no cost question needs."
        )


def _measure(values: pa.Array, column: str, name: str, longest: int, where: Where | None, small: int) -> int:
    """The bytes of a column of texts when they are decoded; 0 of a dictionary that cannot make more than `small`."""
    encoded = pa.types.is_dictionary(values.type)
    texts = values.dictionary if encoded else values
    if not _has_length(texts.type) or not len(texts):
        return 0
    lengths = pc.binary_length(texts)
    most = pc.max(lengths).as_py() or 0
    if most > longest:
        _refuse_longest(values, lengths, most, column, name, longest, where)
    if not encoded:
        return int(texts.nbytes)
    if most * len(values) <= small:
        return 0
    return int(pc.sum(pc.take(lengths, values.indices)).as_py() or 0)


def _refuse_longest(
    values: pa.Array, lengths: pa.Array, most: int, column: str, name: str, longest: int, where: Where | None
) -> None:
    if pa.types.is_dictionary(values.type):
        lengths = pc.take(lengths, values.indices)
    index = pc.index(pc.greater(pc.fill_null(lengths, 0), longest), True).as_py()
    if index < 0:  # in the dictionary, and no row means it
        return
    spot = where(index) if where else "a row"
    raise FocusFileError(
        f"{name}, {spot}, column {column}: the value has {lengths[index].as_py():,} bytes, and a value of this column has "
        f"{longest:,} at most. Shorten it and import the file again; nothing of it was imported."
    )


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    """The columns that a nested column consists of; a column that is not nested itself."""
    type_ = values.type
    if pa.types.is_map(type_):
        yield from _leaves(values.keys)
        yield from _leaves(values.items)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        yield from _leaves(values.flatten())
    elif pa.types.is_struct(type_):
        for child in values.flatten():
            yield from _leaves(child)
    else:
        yield values


def _has_length(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
    )
