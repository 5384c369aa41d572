"""Limits on the memory that a file may need: a few KB of Parquet can have 64 KB in each of 65,536 rows: 4 GB.

Values are measured before they are decoded: for a dictionary, the lengths of its values times their use. So a file
beyond the limits is refused with the row and column, and uses no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import columns as spec
from finops.costs.focus.errors import FocusFileError, display_value

BATCH_ROWS: Final = 1 << 16
"""Rows decoded at once."""

LONGEST: Final = 64 << 10
"""The maximum of bytes of a value."""

LONGEST_JSON: Final = 1 << 20
"""The maximum of bytes of a value of tags and of other columns with JSON."""

COLUMN_BYTES: Final = 128 << 20
"""The maximum of decoded text of a column in one batch: 2 KB a row on average."""

TAGS_BYTES: Final = 256 << 20
"""The same for tags, which are split into columns and never stored as they are: 4 KB."""

BATCH_BYTES: Final = 512 << 20
"""The maximum of all columns of a batch, in memory."""

GATHERED_BYTES: Final = 64 << 20
"""Small batches are merged up to this size."""

_JSON: Final = frozenset({spec.fold(name) for name in (spec.TAGS, *spec.DETAILS)})

Where = Callable[[int], str]
"""A function that names a row of the batch in messages."""


def check_column(values: pa.Array, column: str, name: str, where: Where) -> None:
    """Raise FocusFileError for a value longer than its column allows, or more text than a batch allows. Decodes no
    dictionary. Cost: a few vector operations, mostly over a small dictionary."""
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
    """Raise FocusFileError for a batch with too many bytes in memory, over all columns."""
    if size > BATCH_BYTES:
        raise FocusFileError(
            f"{name}, from {where(0)} on: {BATCH_ROWS:,} rows hold {size >> 20:,} MB. They may hold {BATCH_BYTES >> 20} MB. "
            "Leave out columns that no cost question needs."
        )


def _measure(values: pa.Array, column: str, name: str, longest: int, where: Where | None, small: int) -> int:
    """Return the decoded bytes of a column of texts; 0 for a dictionary that cannot exceed `small`."""
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
    if index < 0:  # in the dictionary, but not used by a row
        return
    spot = where(index) if where else "a row"
    raise FocusFileError(
        f"{name}, {spot}, column {column}: the value has {lengths[index].as_py():,} bytes, and a value of this column has "
        f"{longest:,} at most. Shorten it and import the file again; nothing of it was imported."
    )


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    """Return the leaf columns of a nested column; a plain column is its own leaf."""
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
