"""In which currency answers about cost are: each line's own, one of these alone, or one that every line is converted to.

A door opens the scope around an answer, and every query of it follows: budgets, forecasts and unit cost count what the
cost explorer shows. Outside a scope nothing is converted and nothing is asked (ADR 0046).

The rule of rounding: a line's amount times the rate of its day, once, to 18 decimals, half away from zero. Every figure
is a sum of such lines, so parts add up to their total to the last digit. Hence rollups are not read: what they add
up before would be rounded together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

import pyarrow as pa

from finops.lake.schema import MONEY, OWN_CURRENCY

RATE_DIGITS: Final = 20
RATE_SCALE: Final = 14
"""Decimals of a rate. A rate is below 10^6, so the product of a line's fraction with it has 38 digits at most."""

RATE_LIMIT: Final = Decimal(10 ** (RATE_DIGITS - RATE_SCALE))

RATES_SCHEMA: Final = pa.schema(
    [
        ("rate_currency", pa.string()),
        ("rate_day", pa.date32()),
        ("rate", pa.decimal128(RATE_DIGITS, RATE_SCALE)),
    ]
)
"""One row for each currency and day that has a rate. The names are no columns of facts."""

CONVERTED_COLUMNS: Final = frozenset(
    {
        "billed_cost",
        "effective_cost",
        "list_cost",
        "contracted_cost",
        "list_unit_price",
        "contracted_unit_price",
    }
)
"""Amounts in the currency of their line."""

_CONTEXT: Final = Context(prec=80)
_UNIT: Final = Decimal(1).scaleb(-MONEY.scale)


@dataclass(frozen=True)
class DayRates:
    """The rates to one currency of some days. Equal identities have equal rates."""

    identity: str
    table: pa.Table


@dataclass(frozen=True)
class Conversion:
    """To a currency. A line whose day has no rate keeps its amount and its currency.

    `rates` gives those of the days from the first to the last, both inside; None where there are none.
    """

    currency: str
    rates: Callable[[date, date], DayRates | None]


@dataclass(frozen=True)
class OneCurrency:
    """The lines of one currency alone, as they are."""

    currency: str


Currencies = Conversion | OneCurrency

_scope: ContextVar[Currencies | None] = ContextVar("currencies", default=None)


def current_currencies() -> Currencies | None:
    """What the innermost scope says; None outside: each line in its own currency."""
    return _scope.get()


def display_currency() -> str:
    """What lines are converted to in the innermost scope; empty where nothing is."""
    currencies = _scope.get()
    return currencies.currency if isinstance(currencies, Conversion) else ""


@contextmanager
def currency_scope(currencies: Currencies | None) -> Iterator[None]:
    """Inside, questions about cost are answered so. Scopes nest; the innermost counts, also one of None."""
    token = _scope.set(currencies)
    try:
        yield
    finally:
        _scope.reset(token)


def convert(amount: Decimal, rate: Decimal) -> Decimal:
    """What `converted_sql` makes of a line: the reference of the rule."""
    return _CONTEXT.multiply(amount, rate).quantize(_UNIT, rounding=ROUND_HALF_UP, context=_CONTEXT)


def converted_sql(amount: str, rate: str) -> str:
    """DuckDB's expression of `convert`, exact: its own product of two decimals ends at 38 digits, so that an amount of
    10^8 with 18 decimals would overflow. Whole units and fractions are multiplied apart, and only fractions round.

    An amount of 10^15 or more is an error there, as it is in imports (`MONEY_LIMIT`)."""
    whole = f"CAST(trunc({amount}) AS DECIMAL(18, 0))"
    fraction = f"CAST({amount} - trunc({amount}) AS DECIMAL(18, 18))"
    product = f"CAST({whole} * {rate} AS DECIMAL(33, 18)) + CAST({fraction} * {rate} AS DECIMAL(33, 18))"
    return f"CASE WHEN {rate} IS NULL THEN {amount} ELSE CAST({product} AS DECIMAL(38, 18)) END"


__all__ = [
    "CONVERTED_COLUMNS",
    "OWN_CURRENCY",
    "RATES_SCHEMA",
    "RATE_LIMIT",
    "RATE_SCALE",
    "Conversion",
    "Currencies",
    "DayRates",
    "OneCurrency",
    "convert",
    "converted_sql",
    "currency_scope",
    "current_currencies",
    "display_currency",
]
