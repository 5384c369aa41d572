"""Compare the figures of two answers to one question: names of groups may change while amounts stay equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

Number = Decimal | int
_NAMES: Final = ("provider", "part", "name", "dimension", "value", "source", "month", "date", "start_date")
"""Fields that name an element of a list, besides its group."""

_NO_AMOUNTS: Final = ("share", "ratio", "days", "lines", "other_groups")
"""Ends of names of numbers that have a currency beside them but are no amounts."""

_decode = msgspec.json.Decoder(float_hook=Decimal).decode


# A number that differs; null: absent. `currency` is the currency or unit beside the number; empty for shares and counts.
class FigureChange(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    figure: str
    then: Decimal | None
    now: Decimal | None
    currency: str


def decode_figures(encoded: bytes) -> dict[str, Any]:
    """Decode the figures, amounts as Decimal."""
    fields: dict[str, Any] = _decode(encoded)
    return fields


def have_same_digits(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether all numbers, and the currency codes beside them, are equal and in the same order."""
    return list(_digits(then)) == list(_digits(now))


def _digits(value: Any, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _digits(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _digits(item)
    elif name in ("currency", "unit") or not isinstance(value, str | bool):
        yield name, value


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[FigureChange]:
    """Return the numbers that differ, by name, in the order of the new answer; those absent from it come last."""
    before, after = dict(_numbers(then)), dict(_numbers(now))
    names = dict.fromkeys([*after, *before])
    return [
        FigureChange(
            figure=name[0], then=_decimal(before.get(name)), now=_decimal(after.get(name)), currency=name[1]
        )
        for name in names
        if before.get(name) != after.get(name)
    ]


def _decimal(number: Number | None) -> Decimal | None:
    return None if number is None else Decimal(number)


def _numbers(value: Any, path: str = "", currency: str = "") -> Iterator[tuple[tuple[str, str], Number]]:
    """Yield the numbers, each with its name and the currency beside it."""
    if isinstance(value, dict):
        own = value.get("currency") or value.get("unit")
        for key, item in value.items():
            yield from _numbers(item, f"{path} {key}".strip(), own if isinstance(own, str) else currency)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            # If only the currency distinguishes the items, it is beside the number and needs no label.
            has_currency = isinstance(item, dict) and ("currency" in item or "unit" in item)
            label = _label(item) or ([] if has_currency else [str(place + 1)])
            yield from _numbers(item, " ".join([path, *label]), currency)
    elif isinstance(value, Decimal | int) and not isinstance(value, bool):
        yield (path, "" if path.endswith(_NO_AMOUNTS) else currency), value


def _label(item: Any) -> list[str]:
    """Return the words that distinguish an element of a list from the others."""
    if not isinstance(item, dict):
        return []
    group = item.get("group")
    values = list(map(str, group.values())) if isinstance(group, dict) else []
    if not values and item.get("other_groups"):
        values = ["other groups"]
    values += [item[name] for name in _NAMES if isinstance(item.get(name), str)]
    return values
