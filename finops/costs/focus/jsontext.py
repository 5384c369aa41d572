"""Nested Arrow columns (maps, structs, lists) as JSON text, whole columns at once.

Providers write details as JSON text in CSV and as maps in Parquet; the lake stores text.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

_NULL = pa.scalar("null")


def is_nested(type_: pa.DataType) -> bool:
    return bool(pa.types.is_nested(type_))


def as_text(values: pa.Array) -> pa.Array:
    """Return values of any type as text: times in ISO 8601, numbers in the shortest exact form, nested values as
    JSON. Types without a text form are unchanged."""
    type_ = values.type
    if is_nested(type_):
        return json_text(values)
    if pa.types.is_timestamp(type_):
        moments = values.cast(pa.timestamp("us", type_.tz), safe=False)
        texts = pc.replace_substring(moments.cast(pa.string()), " ", "T", max_replacements=1)
        return pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return values


def json_text(values: pa.Array) -> pa.Array:
    """Return each value as JSON; null stays null. Fields of a struct without a value are left out, as in maps.

    Raises pyarrow's errors for types without a text form. Cost: a few vector operations per level of nesting.
    """
    type_ = values.type
    if pa.types.is_map(type_):
        pairs = pc.binary_join_element_wise(
            _with_null_text(json_text(values.keys)), _with_null_text(json_text(values.items)), ":"
        )
        texts = _join_lists(values.offsets, pairs, "{", "}")
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        texts = _join_lists(values.offsets, _with_null_text(json_text(values.values)), "[", "]")
    elif pa.types.is_struct(type_):
        texts = _of_struct(values)
    else:
        return _of_scalars(values)
    return pc.if_else(pc.is_valid(values), texts, pa.scalar(None, pa.string()))


def _with_null_text(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, _NULL)


def _join_lists(offsets: pa.Array, texts: pa.Array, opening: str, closing: str) -> pa.Array:
    # A sliced array keeps its unsliced children, so its offsets are valid for them.
    lists = pa.ListArray.from_arrays(offsets.cast(pa.int32()), texts.cast(pa.string()))
    return pc.binary_join_element_wise(opening, pc.binary_join(lists, ","), closing, "")


def _of_struct(values: pa.Array) -> pa.Array:
    fields: list[Any] = [
        pc.binary_join_element_wise(_encode_string(values.type.field(place).name), json_text(column), ":")
        for place, column in enumerate(values.flatten())
    ]
    if not fields:
        return pa.array(["{}"] * len(values), pa.string())
    # After an empty text, because pyarrow 26 omits rows where all joined texts are null.
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise("", *fields, ",", null_handling="skip"), 1)
    return pc.binary_join_element_wise("{", joined, "}", "")


def _of_scalars(values: pa.Array) -> pa.Array:
    type_ = values.type
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_):
        return values.cast(pa.string())
    distinct = values if pa.types.is_dictionary(type_) else values.cast(pa.string()).dictionary_encode()
    texts = [
        None if value is None else _encode_string(str(value)) for value in distinct.dictionary.to_pylist()
    ]
    return pa.array(texts, pa.string()).take(distinct.indices)


def _encode_string(text: str) -> str:
    return msgspec.json.encode(text).decode()
