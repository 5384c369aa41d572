"""One amount shared out by weights, to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

from finops.lib.money import MONEY_SCALE

FULL = Decimal(100)
"""What fixed percentages add up to."""

_EXACT = Context(prec=80)


def allocate(amount: int, weights: Sequence[int]) -> list[int]:
    """A part for each weight, amount x weight / sum of weights, cut towards 0; the last one gets what is left.

    The parts add up to the amount, and none has the other sign. Weights are above 0 and there is at least one: who has
    none gets no part, so that the remainder goes to the last that does.
    """
    whole, size = sum(weights), abs(amount)
    parts = [size * weight // whole for weight in weights[:-1]]
    parts.append(size - sum(parts))
    return parts if amount >= 0 else [-part for part in parts]


def allocate_decimal(
    amount: Decimal, weights: Sequence[Decimal], *, places: int = MONEY_SCALE
) -> list[Decimal]:
    """`allocate` of an amount with so many places by weights with any; 0 for a weight that is not above 0."""
    lowest = min(_exponent(weight) for weight in weights)
    units = [max(0, int(weight.scaleb(-lowest, _EXACT))) for weight in weights]
    parts = iter(allocate(to_units(amount, places), [unit for unit in units if unit]))
    return [from_units(next(parts), places) if unit else Decimal(0) for unit in units]


def to_units(amount: Decimal, places: int = MONEY_SCALE) -> int:
    """The amount in its smallest unit. Exact for amounts of no more places than that."""
    return int(amount.scaleb(places, _EXACT))


def from_units(units: int, places: int = MONEY_SCALE) -> Decimal:
    return Decimal(units).scaleb(-places, _EXACT)


def _exponent(weight: Decimal) -> int:
    exponent = weight.as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0
