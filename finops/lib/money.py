"""Amounts: Decimal inside, six places outside, the currency always beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import reduce

MONEY_SCALE = 18

_SIX_PLACES = Decimal("0.000001")
_ZERO = Decimal(0)
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def round_amount(amount: Decimal) -> Decimal:
    """Six places, half to even. Only for the very end: sums are taken before."""
    return amount.quantize(_SIX_PLACES, context=_CONTEXT)


def ratio(numerator: Decimal, denominator: Decimal) -> Decimal | None:
    """numerator ÷ denominator in 38 digits, None when the denominator is 0."""
    if not denominator:
        return None
    return Context(prec=38, rounding=ROUND_HALF_EVEN).divide(numerator, denominator)


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """The exact sum. Python's own `sum` rounds to 28 digits, and an amount can have 38."""
    return reduce(_CONTEXT.add, amounts, _ZERO)


def currencies_by_amount(amounts: Mapping[str, Decimal]) -> list[str]:
    """Currencies in the order that answers list them: the one of most money first. No rate is applied, so it is an
    order for reading and no comparison."""
    return sorted(amounts, key=lambda currency: (amounts[currency].copy_abs().copy_negate(), currency))


def exact_difference(minuend: Decimal, subtrahend: Decimal) -> Decimal:
    """The exact difference."""
    return _CONTEXT.subtract(minuend, subtrahend)


def exact_product(one: Decimal, other: Decimal) -> Decimal:
    """The exact product of two figures with 60 digits together, such as a quantity and a price."""
    return _CONTEXT.multiply(one, other)
