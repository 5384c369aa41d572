"""Columns of tags as FOCUS's one column of JSON objects, whole columns at once: 20 times faster than row by row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_SEPARATOR: Final = ", "


def tag_json(batch: pa.RecordBatch | pa.Table, columns: Mapping[str, str]) -> pa.Array:
    """Return a JSON object per row with its tags; `columns` are text columns of the batch by tag key."""
    fragments = [
        _fragments(_whole(batch.column(column)), key)
        for column, key in columns.items()
        if batch.column(column).null_count < batch.num_rows
    ]
    if not fragments:
        return pa.repeat(pa.scalar("{}"), batch.num_rows)
    # A row of nulls only would be missing from the result. The empty text before them keeps it; its separator is removed.
    texts = pc.binary_join_element_wise(pa.scalar(""), *fragments, _SEPARATOR, null_handling="skip")
    inner = pc.utf8_slice_codeunits(texts, len(_SEPARATOR))
    return pc.binary_join_element_wise("{", inner, "}", "")


def _fragments(values: pa.Array, key: str) -> pa.Array:
    """Return `"key": "value"` of each row; null without a value."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    name = json.dumps(key)
    texts = pa.array(
        [None if text is None else f"{name}: {json.dumps(text)}" for text in values.dictionary.to_pylist()],
        pa.string(),
    )
    return texts.take(values.indices)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
