"""Nested columns of Google's export: records, and lists of them, in Parquet or as text in CSV."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts
from finops.costs.focus.errors import BadCell
from finops.costs.focus.jsontext import json_text
from finops.costs.focus.report import Findings
from finops.costs.focus.values import parse_amount
from finops.costs.native.key_values import entry_of, json_object
from finops.costs.native.native_batch import NativeBatch, recode
from finops.lake.schema import MONEY
from finops.lib.money import exact_sum

_decoder: Final = msgspec.json.Decoder(float_hook=str)
_PYTHON_TEXT: Final = 65_536
"""The maximum of characters of a list as Python writes it; longer ones are not values of a bill."""


def field_of(values: pa.Array, field: str, name: str) -> pa.Array:
    """Return a field of the records in the column `name`, also of records as JSON; null without it. BadCell for
    values that are not records, because a bill would lose them."""
    if pa.types.is_struct(values.type) or pa.types.is_null(values.type):
        return entry_of(values, field, name)
    encoded = list_text(values, name)
    texts = [_field(text, field) for text in encoded.dictionary.to_pylist()]
    for place, text in enumerate(encoded.dictionary.to_pylist()):
        if not json_object(text) and text.strip() not in ("", "{}", "null"):
            index = pc.index(encoded.indices, place).as_py()
            raise BadCell(name, max(index, 0), text, "is no record")
    return pa.array(texts, pa.string()).take(encoded.indices)


def _field(text: str, field: str) -> str | None:
    value = json_object(text).get(field)
    if value is None or isinstance(value, str):
        return value or None
    return msgspec.json.encode(value).decode()


def entries(text: str | None) -> list[dict[str, Any]]:
    """Return the records of a list, written as JSON or by Python; empty for other text. Numbers keep their text."""
    if not text or text in ("[]", "null", "None"):
        return []
    try:
        decoded = _decoder.decode(text)
    except (ValueError, RecursionError):
        decoded = _of_python(text)
    decoded = [decoded] if isinstance(decoded, dict) else decoded
    return [each for each in decoded if isinstance(each, dict)] if isinstance(decoded, list) else []


def _of_python(text: str) -> Any:
    if len(text) > _PYTHON_TEXT:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def list_text(values: pa.Array, name: str) -> pa.DictionaryArray:
    """Return a column of lists as text: the text of CSV, or JSON for Parquet. BadCell for another type."""
    if pa.types.is_nested(values.type):
        return json_text(values).dictionary_encode()
    if pa.types.is_null(values.type):
        return values.cast(pa.string()).dictionary_encode()
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    if not pa.types.is_string(encoded.type.value_type):
        raise BadCell(name, -1, values.type, "does not hold a list of records")
    return encoded


def total_of(batch: NativeBatch, name: str) -> pa.Array:
    """Return the sum of `amount` over each line's records, 0 without any. BadCell for an invalid amount."""
    values = batch.column(name)
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        return _list_totals(values, name)
    encoded = list_text(values, name)
    totals: list[Decimal] = []
    for place, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            totals.append(_total(text))
        except (ValueError, ArithmeticError) as error:
            index = pc.index(encoded.indices, place).as_py()
            raise BadCell(name, max(index, 0), text, "has an amount that is not a number") from error
    return pc.fill_null(pa.array(totals, MONEY).take(encoded.indices), 0)


def _total(text: str) -> Decimal:
    """Raise ValueError for an invalid amount, or an unreadable list."""
    records = entries(text)
    if not records and text.strip() not in ("", "[]", "null", "None", "NULL"):
        raise ValueError("is no list")
    return exact_sum(parse_amount(str(amount))[0] or Decimal(0) for amount in _amounts(records))


def _amounts(records: list[dict[str, Any]]) -> Iterator[Any]:
    return (record["amount"] for record in records if record.get("amount") is not None)


def _list_totals(values: pa.Array, name: str) -> pa.Array:
    flat = values.flatten()
    table = pa.table(
        {
            "line": pc.list_parent_indices(values),
            "amount": amounts.amount(field_of(flat, "amount", name), name, Findings(), None),
        }
    )
    sums = table.group_by("line").aggregate([("amount", "sum")])
    places = pc.index_in(
        pa.array(range(len(values)), pa.int64()), sums["line"].combine_chunks().cast(pa.int64())
    )
    return pc.fill_null(sums["amount_sum"].combine_chunks().cast(MONEY).take(places), 0)


@lru_cache(maxsize=8_192)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = ((entry.get("key"), entry.get("value")) for entry in entries(text))
    return tuple((str(key), "" if value is None else str(value)) for key, value in pairs if key)


def tags_of(columns: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """Return lists of keys and values as one JSON object; for a key in several lists, the first list's value."""
    plain = [pc.fill_null(column.dictionary_decode(), "") for column in columns]
    joined = pc.binary_join_element_wise(*plain, "\x1e").dictionary_encode()
    return recode(joined, _tags_json)


def _tags_json(joined: str) -> str | None:
    tags: dict[str, str] = {}
    for text in joined.split("\x1e"):
        for key, value in _pairs(text):
            tags.setdefault(key, value)
    return msgspec.json.encode(tags).decode() if tags else None
