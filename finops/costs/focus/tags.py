"""Tags in the forms of files, and the one flat form of the spool.

The flat form is `key US value RS key US value` (control characters 31 and 30, removed from keys and values). It needs
no escaping, is the same for equal tag sets, and splits quickly when a month is written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import CAST_ERRORS, BadCell
from finops.costs.focus.report import Findings
from finops.lake.schema import MAX_KEYS

BETWEEN_TAGS, BETWEEN_KEY_AND_VALUE = "\x1e", "\x1f"
MAX_KEY_LENGTH: Final = 256
MAX_TAGS: Final = 2_000
"""The maximum of tags of a row; twice the keys that an import keeps."""

MAX_KEYS_SEEN: Final = 250_000
"""The maximum of different keys of an import. Each is counted in memory."""

_REMEMBERED: Final = 32 << 20
"""The maximum of characters of raw tags whose parsing is cached."""

_AFTER_KEY: Final = re.compile(r'"\s*:')
_CONTROL: Final = dict.fromkeys((*range(32), 127))
_VALUE_CONTROL: Final = dict.fromkeys((0, 30, 31))
_NULLS: Final = frozenset({"", "NULL", "null", "Null"})
_KEY_NAMES, _VALUE_NAMES = ("key", "Key", "name", "Name"), ("value", "Value")
_decoder: Final = msgspec.json.Decoder(float_hook=str)


class TagSet(NamedTuple):
    """A row's tags in the flat form (None: no tags), and the deviations found while parsing."""

    flat: str | None
    trimmed: bool = False
    collided: bool = False
    repeated: bool = False
    unreadable: bool = False
    size: int = 0


class Tags:
    """Reads the Tags column of batches and counts the use of each key."""

    def __init__(self) -> None:
        self.key_rows: Counter[str] = Counter()
        self._known: dict[str, TagSet] = {}
        self._known_size = 0

    def flat(self, values: pa.Array, column: str, findings: Findings) -> pa.DictionaryArray:
        """Return the column in the flat form, dictionary-encoded. BadCell for a type without tags."""
        encoded = _as_text(values, column)
        sets = [self._read(raw) for raw in encoded.dictionary.to_pylist()]
        _refuse_too_many(sets, encoded, column)
        for kind, flags in (
            ("tags_unreadable", [tags.unreadable for tags in sets]),
            ("tag_key_trimmed", [tags.trimmed for tags in sets]),
            ("tag_key_collision", [tags.collided for tags in sets]),
            ("tag_key_repeated", [tags.repeated for tags in sets]),
        ):
            if any(flags):
                findings.cells(kind, column, pa.array(flags).take(encoded.indices), encoded)
        self._count(sets, encoded.indices)
        self._refuse_too_many_keys(column)
        distinct = pa.array([tags.flat for tags in sets], pa.string()).dictionary_encode()
        return pa.DictionaryArray.from_arrays(distinct.indices.take(encoded.indices), distinct.dictionary)

    def kept_keys(self) -> list[str]:
        """Return the keys that become columns: the most used 1,000, in alphabetical order."""
        return sorted(key for key, _ in self.key_rows.most_common(MAX_KEYS))

    def dropped_keys(self) -> list[str]:
        return sorted(key for key, _ in self.key_rows.most_common()[MAX_KEYS:])

    def _read(self, raw: str) -> TagSet:
        tag_set = self._known.get(raw)
        if tag_set is None:
            if self._known_size >= _REMEMBERED:
                self._known.clear()
                self._known_size = 0
            tag_set = self._known[raw] = read_tags(raw)
            self._known_size += len(raw) + 100
        return tag_set

    def _count(self, sets: list[TagSet], indices: pa.Array) -> None:
        counted = pc.value_counts(indices.drop_null())
        for place, rows in zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True):
            for key, _ in pairs(sets[place].flat):
                self.key_rows[key] += rows

    def _refuse_too_many_keys(self, column: str) -> None:
        if len(self.key_rows) > MAX_KEYS_SEEN:
            raise BadCell(
                column,
                -1,
                f"{len(self.key_rows):,}",
                f"has more than {MAX_KEYS_SEEN:,} different keys; is it the right column",
            )


def _refuse_too_many(sets: list[TagSet], encoded: pa.DictionaryArray, column: str) -> None:
    for place, tags in enumerate(sets):
        if tags.size > MAX_TAGS and (index := pc.index(encoded.indices, place).as_py()) >= 0:
            raise BadCell(
                column,
                index,
                encoded.dictionary[place].as_py(),
                f"has {tags.size:,} tags; the maximum per row is {MAX_TAGS:,}",
            )


def pairs(flat: str | None) -> list[tuple[str, str]]:
    """Return the tags of a flat form."""
    if not flat:
        return []
    return [tuple(tag.split(BETWEEN_KEY_AND_VALUE)) for tag in flat.split(BETWEEN_TAGS)]  # type: ignore[misc]


def read_tags(raw: str) -> TagSet:
    """Return the tags of a JSON object, a JSON list of key and value objects, or JSON without its braces."""
    if raw.startswith(BETWEEN_TAGS):
        return _tag_set(tag.partition(BETWEEN_KEY_AND_VALUE)[::2] for tag in raw[1:].split(BETWEEN_TAGS))
    text = raw.strip()
    if text in _NULLS:
        return TagSet(None)
    try:
        items = _items(_decode("{" + text + "}" if text.startswith('"') else text))  # Azure leaves them out
        return TagSet(None, unreadable=True) if items is None else _tag_set(items)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return TagSet(None, unreadable=True)


def _decode(text: str) -> Any:
    """Decode JSON; an object with a repeated key as its list of pairs, because the decoder keeps only the last."""
    decoded = _decoder.decode(text)
    if not isinstance(decoded, dict) or len(_AFTER_KEY.findall(text)) <= len(decoded):
        return decoded
    outermost: list[tuple[str, Any]] = []

    def keep_outermost(pairs_of_object: list[tuple[str, Any]]) -> dict[str, Any]:
        outermost[:] = pairs_of_object
        return dict(pairs_of_object)

    json.loads(text, object_pairs_hook=keep_outermost, parse_float=str)
    return _Pairs(outermost)


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object in order."""


def _items(decoded: Any) -> Iterable[Any] | None:
    if decoded is None:
        return ()
    if isinstance(decoded, _Pairs):
        return decoded
    if isinstance(decoded, dict):
        return decoded.items()
    if isinstance(decoded, list) and all(isinstance(item, dict) for item in decoded):
        pairs_of_items = [(_first(item, _KEY_NAMES), _first(item, _VALUE_NAMES)) for item in decoded]
        return None if any(not isinstance(key, str) for key, _ in pairs_of_items) else pairs_of_items
    return None


def _first(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if name in item), None)


def _tag_set(items: Iterable[Any]) -> TagSet:
    tags: dict[str, str] = {}
    keys: set[str] = set()
    trimmed = collided = repeated = False
    for key, value in items:
        is_repeated = key in keys
        repeated |= is_repeated
        keys.add(key)
        clean = key.translate(_CONTROL).strip()[:MAX_KEY_LENGTH]
        trimmed |= clean != key
        words = _value(value)
        if not clean or words is None:
            continue
        collided |= clean in tags and not is_repeated
        tags.setdefault(clean, words)
    flat = BETWEEN_TAGS.join(f"{key}{BETWEEN_KEY_AND_VALUE}{value}" for key, value in tags.items())
    return TagSet(flat or None, trimmed, collided, repeated, size=len(tags))


def _value(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    words = value if isinstance(value, str) else _as_json(value)
    words = words.translate(_VALUE_CONTROL)
    return None if words.strip() in _NULLS else words


def _as_json(value: Any) -> str:
    return str(value) if isinstance(value, int) else msgspec.json.encode(value).decode()


def _as_text(values: pa.Array, column: str) -> pa.DictionaryArray:
    type_ = values.type
    if pa.types.is_map(type_):
        return flat_map(values.offsets, values.keys, values.items, values).dictionary_encode()
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _flat_list(values, column).dictionary_encode()
    if pa.types.is_struct(type_):
        return _flat_struct(values).dictionary_encode()
    if pa.types.is_dictionary(type_) and pa.types.is_string(type_.value_type):
        return values
    try:
        return values.cast(pa.string()).dictionary_encode()
    except CAST_ERRORS as error:
        raise BadCell(column, -1, type_, "does not hold tags") from error


def flat_map(offsets: pa.Array, keys: pa.Array, items: pa.Array, whole: pa.Array) -> pa.Array:
    """Return each row's keys and values in the flat form after one separator, all rows at once."""
    words = pc.coalesce(items.cast(pa.string()), pa.scalar("NULL"))
    both = pc.binary_join_element_wise(keys.cast(pa.string()), words, BETWEEN_KEY_AND_VALUE)
    # A sliced array keeps its unsliced children, so its offsets are valid for them.
    lists = pa.ListArray.from_arrays(offsets.cast(pa.int32()), both)
    joined = pc.binary_join(lists, BETWEEN_TAGS)
    marked = pc.binary_join_element_wise(pa.scalar(""), joined, BETWEEN_TAGS)
    return pc.if_else(pc.is_valid(whole), marked, pa.scalar(None, pa.string()))


def _flat_list(values: pa.Array, column: str) -> pa.Array:
    inner = values.type.value_type
    names = (
        [inner.field(place).name for place in range(inner.num_fields)] if pa.types.is_struct(inner) else []
    )
    key = next((name for name in _KEY_NAMES if name in names), None)
    value = next((name for name in _VALUE_NAMES if name in names), None)
    if key is None or value is None:
        raise BadCell(column, -1, values.type, "does not hold tags")
    return flat_map(values.offsets, values.values.field(key), values.values.field(value), values)


def _flat_struct(values: pa.Array) -> pa.Array:
    """A struct has the same keys in every row; keys without a value are not tags of the row."""
    columns = [
        pc.binary_join_element_wise(
            values.type.field(place).name, column.cast(pa.string()), BETWEEN_KEY_AND_VALUE
        )
        for place, column in enumerate(values.flatten())
    ]
    joined = pc.binary_join_element_wise("", *columns, BETWEEN_TAGS, null_handling="skip")
    return pc.if_else(pc.is_valid(values), joined, pa.scalar(None, pa.string()))
