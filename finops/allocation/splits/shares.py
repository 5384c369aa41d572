"""The shares of a split, day by day, and the allocation of one amount by weights, exact to the last digit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Context, Decimal
from math import gcd

from finops.allocation.splits.rules import EVEN, FIXED, PROPORTIONAL, Split, SplitDimension
from finops.lib.money import MONEY_SCALE

FULL = Decimal(100)
"""The total of fixed percentages."""

_EXACT = Context(prec=80)


def allocate(amount: int, weights: Sequence[int]) -> list[int]:
    """Return a part for each weight, amount · weight ÷ sum of weights, truncated towards 0; the last gets the
    remainder.

    The parts add up to the amount, and none has the other sign. Weights are positive and there is at least one:
    targets without a weight get no part, so that the remainder goes to the last target with one. Which target gets
    the remainder is our rule: the same on every day, whatever the weights.
    """
    whole, size = sum(weights), abs(amount)
    parts = [size * weight // whole for weight in weights[:-1]]
    parts.append(size - sum(parts))
    return parts if amount >= 0 else [-part for part in parts]


def allocate_decimal(
    amount: Decimal, weights: Sequence[Decimal], *, places: int = MONEY_SCALE
) -> list[Decimal]:
    """Allocate an amount with so many decimal places by weights with any number; a weight of 0 or less gets 0."""
    lowest = min(_exponent(weight) for weight in weights)
    units = [max(0, int(weight.scaleb(-lowest, _EXACT))) for weight in weights]
    parts = iter(allocate(to_units(amount, places), [unit for unit in units if unit]))
    return [from_units(next(parts), places) if unit else Decimal(0) for unit in units]


def to_units(amount: Decimal, places: int = MONEY_SCALE) -> int:
    """Convert the amount to its smallest unit. Exact for amounts with at most that many places."""
    return int(amount.scaleb(places, _EXACT))


def from_units(units: int, places: int = MONEY_SCALE) -> Decimal:
    return Decimal(units).scaleb(-places, _EXACT)


def _exponent(weight: Decimal) -> int:
    exponent = weight.as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


PERCENT_PLACES = 12


@dataclass(frozen=True, eq=False)
class Shares:
    """Targets that get a part and their weights, all positive, in order. Empty: there is no weight to allocate by.

    Compared by identity: cost with the same shares is added before it is allocated.
    """

    weights: Mapping[str, int]


NO_SHARES = Shares({})


def _common_divisor(numbers: Iterable[int]) -> int:
    """The gcd of the weights. A remainder takes a fraction of gcd's time for large numbers, and is 0 for most."""
    common = 0
    for number in numbers:
        if not common or number % common:
            common = gcd(common, number)
    return common


@dataclass
class Weights:
    """`costs` of targets by dimension, day and currency, `usage` of customers by metric and day; in the smallest
    units of each.

    A weight of 0 or less gets nothing: a credit or a correction takes no cost back from other targets.
    """

    costs: Mapping[tuple[str, date, str], Mapping[str, int]] = field(default_factory=dict)
    usage: Mapping[tuple[str, date], Mapping[str, int]] = field(default_factory=dict)
    _known: dict[tuple[int, date | None, str], Shares] = field(default_factory=dict)

    def of(self, among: SplitDimension, split: Split, day: date, currency: str) -> Shares:
        """Return the shares of the split's cost of that day and currency. Cached, because many cells have the same
        shares. Even, fixed and proportional (by direct cost) are the FinOps Framework's ways to share cost (Shared
        Cost Management); usage is proportional to pushed usage instead."""
        key = (
            split.id,
            None if among.is_steady(split) else day,
            currency if split.method == PROPORTIONAL else "",
        )
        shares = self._known.get(key)
        if shares is None:
            shares = self._known[key] = self._find(among, split, day, currency)
        return shares

    def _find(self, among: SplitDimension, split: Split, day: date, currency: str) -> Shares:
        weights = self._all(among, split, day, currency)
        names = split.targets or sorted(weights)
        # A source is never a target, also when a customer has the same name.
        recipients = [name for name in names if weights.get(name, 0) > 0 and name not in among.sources]
        # Dividing by small numbers is faster.
        common = _common_divisor(weights[name] for name in recipients)
        return Shares({name: weights[name] // common for name in recipients}) if recipients else NO_SHARES

    def _all(self, among: SplitDimension, split: Split, day: date, currency: str) -> Mapping[str, int]:
        if split.method == EVEN:
            return dict.fromkeys(split.targets, 1)
        if split.method == FIXED:
            units = [int(percent.scaleb(PERCENT_PLACES)) for percent in split.percents]
            return dict(zip(split.targets, units, strict=True))
        if split.method == PROPORTIONAL:
            return self.costs.get((among.dimension.name, day, currency), {})
        return self.usage.get((split.usage_metric, day), {})
