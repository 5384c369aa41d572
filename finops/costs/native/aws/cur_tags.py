"""The tags of a Cost and Usage Report's line, in a form that the importer reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import pyarrow as pa

from finops.costs.native.aws.cur_columns import CurColumns, tag_key
from finops.costs.native.key_values import json_object
from finops.costs.native.native_batch import NativeBatch, encode, recode

TAG_MAP: Final = "resource_tags"


def tag_places(columns: CurColumns) -> tuple[str, ...]:
    """The columns that hold tags: a map of all (CUR 2.0), or one for each key."""
    return columns.present(TAG_MAP) or tuple(columns.tag_columns().values())


def read_tags(batch: NativeBatch, columns: CurColumns) -> pa.Array:
    """The tags of each line under FOCUS's keys: a struct or map, or JSON objects as text."""
    if not columns.has(TAG_MAP):
        by_key = columns.tag_columns()
        return pa.StructArray.from_arrays([batch.text(name) for name in by_key.values()], list(by_key))
    name = columns.name(TAG_MAP)
    values = batch.column(name)
    if pa.types.is_map(values.type):
        return _with_keys(values)
    if pa.types.is_struct(values.type):
        fields = [values.type.field(place).name for place in range(values.type.num_fields)]
        keys = _unique_keys(fields)
        return pa.StructArray.from_arrays(
            [values.flatten()[fields.index(field)] for field in keys.values()], list(keys)
        )
    return recode(encode(values, name), _rekey)


def _unique_keys(fields: list[str]) -> Mapping[str, str]:
    keys: dict[str, str] = {}
    for field in fields:
        keys.setdefault(tag_key(field), field)
    return keys


def _with_keys(values: pa.MapArray) -> pa.MapArray:
    keys = values.keys
    encoded = keys if pa.types.is_dictionary(keys.type) else keys.cast(pa.string()).dictionary_encode()
    renamed = recode(encoded, tag_key).dictionary_decode()
    return pa.MapArray.from_arrays(
        values.offsets, renamed, values.items, mask=values.is_null() if values.null_count else None
    )


def _rekey(text: str) -> str:
    """Text that is no JSON object stays as it is: the importer counts it as tags that cannot be read."""
    tags = json_object(text)
    if not tags:
        return text
    rekeyed: dict[str, object] = {}
    for key, value in tags.items():
        rekeyed.setdefault(tag_key(key), value)
    return msgspec.json.encode(rekeyed).decode()
