"""The tags of a Cost and Usage Report's line, in a form that the importer reads.

Included are resource tags, the tags of accounts, principals and users (`tags` of CUR 2.0, keys like
`accountTag/team`), and cost categories as `costCategory/…`, which AWS's own FOCUS 1.2 export also has in its tags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.tags import BETWEEN_KEY_AND_VALUE, BETWEEN_TAGS, flat_map
from finops.costs.native.aws.cur_columns import COST_CATEGORY, CurColumns, tag_key
from finops.costs.native.key_values import json_object
from finops.costs.native.native_batch import NativeBatch, encode, recode


def _category_key(name: str) -> str:
    return COST_CATEGORY + name


_WHOLE: Final[Mapping[str, Callable[[str], str]]] = {
    "resource_tags": tag_key,
    "tags": tag_key,
    "cost_category": _category_key,
}
"""Columns with all keys and values of a line, and the FOCUS prefix of their keys."""


def tag_places(columns: CurColumns) -> tuple[str, ...]:
    """Return the columns with tags: maps of all (CUR 2.0), else one for each key."""
    return columns.present(*_WHOLE) or tuple(columns.tag_columns().values())


def read_tags(batch: NativeBatch, columns: CurColumns) -> pa.Array:
    """Return the tags of each line under FOCUS's keys: a struct, a map, or texts joined for the importer."""
    whole = [name for name in _WHOLE if columns.has(name)]
    if not whole:
        by_key = columns.tag_columns()
        return pa.StructArray.from_arrays([batch.text(name) for name in by_key.values()], list(by_key))
    parts = [_part(batch.column(columns.name(name)), columns.name(name), _WHOLE[name]) for name in whole]
    if len(parts) == 1:
        return parts[0]
    return _join_distinct([_encode(part) for part in parts])


def _encode(values: pa.Array) -> pa.DictionaryArray:
    """Return the tags of a part as texts, "" without any."""
    if isinstance(values, pa.DictionaryArray):
        return _without_null(values)
    return _without_null(_flat(values).dictionary_encode())


def _without_null(encoded: pa.DictionaryArray) -> pa.DictionaryArray:
    texts = pa.concat_arrays([pc.fill_null(encoded.dictionary, ""), pa.array([""], pa.string())])
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return pa.DictionaryArray.from_arrays(indices, texts)


def _join_distinct(parts: Sequence[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Join the parts of each line; null if all are empty. Texts are joined per existing combination instead of per
    line: a combination is one number. Three parts of 2^17 lines have fewer than 2^63."""
    first, *other_parts = parts
    numbers = first.indices
    for part in other_parts:
        numbers = pc.add(pc.multiply(numbers, len(part.dictionary)), part.indices)
    encoded = numbers.dictionary_encode()
    quotients, texts = encoded.dictionary, []
    for part in reversed(other_parts):
        above = pc.divide(quotients, len(part.dictionary))
        texts.append(part.dictionary.take(pc.subtract(quotients, pc.multiply(above, len(part.dictionary)))))
        quotients = above
    joined = _join([first.dictionary.take(quotients), *reversed(texts)])
    is_empty = pc.equal(joined, "")
    if not pc.any(is_empty).as_py():
        return pa.DictionaryArray.from_arrays(encoded.indices, joined)
    places = pc.if_else(is_empty, pa.scalar(None, pa.int32()), pa.array(range(len(joined)), pa.int32()))
    return pa.DictionaryArray.from_arrays(places.take(encoded.indices), joined)


def _part(values: pa.Array, name: str, key_of: Callable[[str], str]) -> pa.Array:
    if pa.types.is_map(values.type):
        return _with_keys(values, key_of)
    if pa.types.is_struct(values.type):
        return _struct_with_keys(values, key_of)
    return recode(encode(values, name), lambda text: _flat_json(text, key_of))


def _flat(values: pa.Array) -> pa.Array:
    if pa.types.is_map(values.type):
        return flat_map(values.offsets, values.keys, values.items, values)
    fields = [
        pc.binary_join_element_wise(
            BETWEEN_TAGS + values.type.field(place).name, column.cast(pa.string()), BETWEEN_KEY_AND_VALUE
        )
        for place, column in enumerate(values.flatten())
    ]
    return _join(fields)


def _join(texts: Sequence[pa.Array]) -> pa.Array:
    """Join texts; null counts as none. (With null_handling="skip" pyarrow 26 drops rows in which all are null.)"""
    return pc.binary_join_element_wise(*texts, "", null_handling="replace", null_replacement="")


def _struct_with_keys(values: pa.StructArray, key_of: Callable[[str], str]) -> pa.StructArray:
    keyed: dict[str, pa.Array] = {}
    for place, column in enumerate(values.flatten()):
        keyed.setdefault(key_of(values.type.field(place).name), column)
    return pa.StructArray.from_arrays(list(keyed.values()), list(keyed))


def _with_keys(values: pa.MapArray, key_of: Callable[[str], str]) -> pa.MapArray:
    renamed = recode(encode(values.keys, "keys"), key_of).dictionary_decode()
    mask = values.is_null() if values.null_count else None
    return pa.MapArray.from_arrays(values.offsets, renamed, values.items, mask=mask)


def _flat_json(text: str, key_of: Callable[[str], str]) -> str | None:
    """Return a JSON object in the importer's tag form. Other text is unchanged: it is counted as unreadable."""
    tags = json_object(text)
    if not tags:
        return None if text.strip() in ("{}", "null") else text
    return "".join(
        f"{BETWEEN_TAGS}{key_of(key)}{BETWEEN_KEY_AND_VALUE}{_value(value)}"
        for key, value in tags.items()
        if value is not None
    )


def _value(value: object) -> str:
    words = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return words.replace(BETWEEN_TAGS, "").replace(BETWEEN_KEY_AND_VALUE, "")
