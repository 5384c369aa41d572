"""The currency of answers about cost: each line in its own currency, only lines in one currency, or every line
converted to one.

The caller opens the scope around an answer and every query inside follows it, so budgets, forecasts and unit cost
have the figures of the cost explorer. Outside a scope nothing is converted (ADR 0046).

Rounding: a line's amount times the rate of its day, rounded once to 18 decimals, half away from zero. Every figure is
a sum of such lines, so parts add up to their total to the last digit. For that reason rollups are not read: their
sums would be rounded instead of their lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
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
        ("rate_coarse", pa.decimal128(15, 9)),
        ("rate_fine", pa.float64()),
    ]
)
"""One row for each currency and day with a rate: the rate to 9 decimals, and the remainder. No fact has columns of
these names."""

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
"""The columns with amounts in the currency of their line."""

_CONTEXT: Final = Context(prec=80)
_UNIT: Final = Decimal(1).scaleb(-MONEY.scale)
_COARSE: Final = Decimal(1).scaleb(-9)


@dataclass(frozen=True)
class DayRates:
    """The rates to one currency for some days. Equal identities mean equal rates."""

    identity: str
    table: pa.Table


@dataclass(frozen=True)
class Conversion:
    """Conversion to one currency. A line whose day has no rate keeps its amount and its currency.

    `rates` returns the rates from the first to the last day (inclusive), or None if there are none.
    """

    currency: str
    rates: Callable[[date, date], DayRates | None]


@dataclass(frozen=True)
class OneCurrency:
    """Only lines in one currency, unconverted."""

    currency: str


Currencies = Conversion | OneCurrency

_scope: ContextVar[Currencies | None] = ContextVar("currencies", default=None)


def current_currencies() -> Currencies | None:
    """The setting of the innermost scope; None outside a scope: each line in its own currency."""
    return _scope.get()


def display_currency() -> str:
    """The currency that the innermost scope converts to; empty if it does not convert."""
    currencies = _scope.get()
    return currencies.currency if isinstance(currencies, Conversion) else ""


@contextmanager
def currency_scope(currencies: Currencies | None) -> Iterator[None]:
    """Answer questions about cost inside the block in these currencies. Scopes nest; the innermost one applies, also
    if it is None."""
    token = _scope.set(currencies)
    try:
        yield
    finally:
        _scope.reset(token)


def convert(amount: Decimal, rate: Decimal) -> Decimal:
    """The reference implementation of the rounding rule, for one line; `conversion_steps` computes the same in SQL."""
    return _CONTEXT.multiply(amount, rate).quantize(_UNIT, rounding=ROUND_HALF_UP, context=_CONTEXT)


def rates_table(rates: Sequence[tuple[str, date, Decimal]]) -> pa.Table:
    """The table of RATES_SCHEMA for currencies, days and rates."""
    coarse = [rate.quantize(_COARSE, rounding=ROUND_DOWN) for _, _, rate in rates]
    fine = [float(_CONTEXT.subtract(rate, part)) for (_, _, rate), part in zip(rates, coarse, strict=True)]
    columns = [*(list(column) for column in zip(*rates, strict=True)), coarse, fine]
    columns = columns if rates else [[] for _ in RATES_SCHEMA]
    arrays = [pa.array(values, kind.type) for values, kind in zip(columns, RATES_SCHEMA, strict=True)]
    return pa.table(arrays, schema=RATES_SCHEMA)


def conversion_steps(amount: str) -> list[tuple[str, str]]:
    """DuckDB's expressions of `convert` for a column of lines that are joined with RATES_SCHEMA: names and texts,
    each using the columns before it; the last one is named `amount`.

    Exact, without DuckDB's 128-bit division: one division takes 500 ns, and a plain product with its rounding needs
    seven. The amount is split into whole units, 9 decimals and the rest. The products of the first two are exact; for
    the rest, floats give the units of the 18th decimal, and the exact product decides where these are within a
    thousandth of a half.

    An amount of 10^15 or more is an error, as it is in imports (`MONEY_LIMIT`).
    """
    names = ("size", "whole", "fraction", "coarse", "rest", "product")
    size, whole, fraction, coarse, remainder, product = (f'"{name} of {amount}"' for name in names)
    below = f"CAST(CAST(CAST({fraction} AS DECIMAL(19, 18)) - {coarse} AS DECIMAL(18, 18)) AS DOUBLE)"
    units = f"{remainder} * 1e18"
    is_close = f"abs({units} - floor({units}) - 0.5) < 0.001 OR abs({units}) > 1e11"
    exact = (
        f'CAST({fraction} * "rate" AS DECIMAL(38, 32)) - CAST({coarse} * "rate_coarse" AS DECIMAL(24, 18))'
    )
    # Add and subtract one: a half is rounded up whatever the sign of the rest.
    rounded = f"CAST({exact} + 1 AS DECIMAL(20, 18)) - 1"
    below_coarse = f"CASE WHEN {is_close} THEN CAST({rounded} AS DECIMAL(18, 18)) ELSE CAST({remainder} AS DECIMAL(18, 18)) END"
    total = (
        f"CASE WHEN {whole} IS NULL THEN CAST({product} AS DECIMAL(38, 18)) "
        f'ELSE CAST(CAST({whole} * "rate" AS DECIMAL(33, 18)) + {product} AS DECIMAL(38, 18)) END'
    )
    return [
        (size, f'CASE WHEN "rate" IS NOT NULL THEN abs("{amount}") END'),
        (whole, _whole_units(size)),
        (
            fraction,
            f"CAST(CASE WHEN {whole} IS NULL THEN {size} ELSE {size} - {whole} END AS DECIMAL(18, 18))",
        ),
        (coarse, f"CAST({fraction} AS DECIMAL(10, 9))"),
        (
            remainder,
            f'CAST({coarse} AS DOUBLE) * "rate_fine" + {below} * (CAST("rate_coarse" AS DOUBLE) + "rate_fine")',
        ),
        (
            product,
            f'{coarse} * "rate_coarse" + {below_coarse}',
        ),
        (
            f'"{amount}"',
            f'CASE WHEN "rate" IS NULL THEN "{amount}" WHEN "{amount}" < 0 THEN -{total} ELSE {total} END',
        ),
    ]


def _whole_units(size: str) -> str:
    """The whole units of an amount; NULL below 1. Most amounts are small, and a comparison takes a hundredth of the
    time of `trunc`."""
    small = " ".join(
        f"WHEN {size} < {units + 1} THEN CAST({units} AS DECIMAL(18, 0))" for units in range(1, 16)
    )
    return f"CASE WHEN {size} < 1 THEN NULL {small} WHEN {size} >= 16 THEN CAST(trunc({size}) AS DECIMAL(18, 0)) END"


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
    "conversion_steps",
    "convert",
    "currency_scope",
    "current_currencies",
    "display_currency",
    "rates_table",
]
