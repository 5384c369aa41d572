"""Finds amounts that stand without their currency, in the types of tools and in real answers.

Whatever is a number is an amount, unless its name is in one of these lists: add a name when it is no money.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import inspect

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

RATIOS = {"share", "ratio", "coverage"}
COUNTS = {"days", "rows", "top", "limit", "other_groups", "total_values", "fiscal_start_month"}


def bare_amounts_of_type(kind: type[msgspec.Struct]) -> list[str]:
    """Decimal fields (also in lists and dicts) of Structs that have no field `currency`."""
    return list(_in_struct(inspect.type_info(kind), set()))


def _in_struct(kind: inspect.Type, seen: set[type]) -> Iterator[str]:
    if isinstance(kind, inspect.StructType) and kind.cls not in seen:
        seen.add(kind.cls)
        names = {field.encode_name for field in kind.fields}
        for field in kind.fields:
            if "currency" not in names and _holds_decimal(field.type) and field.encode_name not in RATIOS:
                yield f"{kind.cls.__name__}.{field.encode_name}"
            yield from _in_struct(field.type, seen)
    for inner in _inner(kind):
        yield from _in_struct(inner, seen)


def _holds_decimal(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.DecimalType | inspect.FloatType) or any(map(_holds_decimal, _inner(kind)))


def _inner(kind: inspect.Type) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return [kind.type]
    if isinstance(kind, inspect.UnionType):
        return list(kind.types)
    if isinstance(kind, inspect.ListType):
        return [kind.item_type]
    return [kind.value_type] if isinstance(kind, inspect.DictType) else []


def bare_amounts_of_answer(value: Any, path: str = "$") -> list[str]:
    """Numbers of an answer as JSON, in objects that have no `currency` and whose name says nothing else."""
    return list(_in_value(value, path, has_currency=False))


def _in_value(value: Any, path: str, *, has_currency: bool) -> Iterator[str]:
    if isinstance(value, dict):
        # A dict of numbers by day belongs to the object around it.
        inside = "currency" in value or (has_currency and _is_series(value))
        for name, item in value.items():
            known = name in RATIOS | COUNTS or inside
            yield from (
                [] if known and _is_number(item) else _in_value(item, f"{path}.{name}", has_currency=inside)
            )
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _in_value(item, f"{path}[{index}]", has_currency=has_currency)
    elif _is_number(value):
        yield path


def _is_series(value: dict[str, Any]) -> bool:
    return all(_DAY.fullmatch(name) for name in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
