"""One currency at a time in a widget: amounts of different currencies are never added, and space is limited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from finops.lake.engine.conversion import display_currency

AMOUNTS: Final = ("totals", "rows", "moves", "recommendations")
"""Fields of answers whose items are each in one currency."""

DRAWINGS: Final = ("tables", "waterfalls", "trends")
"""Parts of a widget's context that are charts or tables, each in one currency."""


def in_one_currency(data: Mapping[str, Any], preferred: str = "") -> dict[str, Any]:
    """Return a widget's context in one currency: `preferred`, or if nothing is in that currency the display currency,
    or else the currency of the first total. `currencies` in the result are the choices; a context without totals is
    unchanged."""
    answer: Any = data.get("answer")
    currencies = list(dict.fromkeys(total.currency for total in getattr(answer, "totals", ())))
    if len(currencies) < 2:
        return {**data, "currencies": []}
    currency = next(each for each in (preferred, display_currency(), currencies[0]) if each in currencies)
    fields = [name for name in AMOUNTS if hasattr(answer, name)]
    amounts = {name: [each for each in getattr(answer, name) if each.currency == currency] for name in fields}
    drawings = {name: _drawn_in(data[name], currency) for name in DRAWINGS if name in data}
    return {
        **data,
        **drawings,
        "answer": msgspec.structs.replace(answer, **amounts),
        "currencies": currencies,
        "currency": currency,
    }


def _drawn_in(drawings: Sequence[Any], currency: str) -> list[Any]:
    return [each for each in drawings if _currency_of(each) == currency]


def _currency_of(drawing: Any) -> str:
    total = getattr(drawing, "total", None)
    return str(total.currency if total is not None else drawing.currency)
