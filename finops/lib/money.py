"""Exact amounts: Decimal in Python, six decimals in answers, always together with the currency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import reduce

MONEY_SCALE = 18

_SIX_PLACES = Decimal("0.000001")
_ZERO = Decimal(0)
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def round_amount(amount: Decimal) -> Decimal:
    """Round to six decimals, half to even. Only for final results: sum before rounding."""
    return amount.quantize(_SIX_PLACES, context=_CONTEXT)


def ratio(numerator: Decimal, denominator: Decimal) -> Decimal | None:
    """Return numerator ÷ denominator in 38 digits, None when the denominator is 0."""
    if not denominator:
        return None
    return Context(prec=38, rounding=ROUND_HALF_EVEN).divide(numerator, denominator)


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """Return the exact sum. Python's own `sum` rounds to 28 digits, and an amount can have 38."""
    return reduce(_CONTEXT.add, amounts, _ZERO)


def currencies_by_amount(amounts: Mapping[str, Decimal]) -> list[str]:
    """Return the currencies in the order of answers: the largest amount first. No exchange rate is applied, so the order is
    for reading and does not compare values."""
    return sorted(amounts, key=lambda currency: (amounts[currency].copy_abs().copy_negate(), currency))


def exact_difference(minuend: Decimal, subtrahend: Decimal) -> Decimal:
    """Return the exact difference."""
    return _CONTEXT.subtract(minuend, subtrahend)


def exact_product(one: Decimal, other: Decimal) -> Decimal:
    """Return the exact product of two figures with 60 digits together, such as a quantity and a price."""
    return _CONTEXT.multiply(one, other)
