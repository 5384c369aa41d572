"""By what a split shares out, day by day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from math import gcd

from finops.allocation.splits.rules import EVEN, FIXED, PROPORTIONAL, Split, SplitDimension

PERCENT_PLACES = 12


@dataclass(frozen=True, eq=False)
class Shares:
    """Targets that get a part and their weights, all above 0, in order. Empty: there is nothing to share out by.

    Compared by identity: cost with the same shares is added before it is shared out.
    """

    weights: Mapping[str, int]


NO_SHARES = Shares({})


@dataclass
class Weights:
    """`costs` of targets by dimension, day and currency, `usage` of customers by metric and day; in smallest units.

    What weighs 0 or less gets nothing: a credit or a correction takes no cost back from others.
    """

    costs: Mapping[tuple[str, date, str], Mapping[str, int]] = field(default_factory=dict)
    usage: Mapping[tuple[str, date], Mapping[str, int]] = field(default_factory=dict)
    _known: dict[tuple[int, date | None, str], Shares] = field(default_factory=dict)

    def of(self, among: SplitDimension, split: Split, day: date, currency: str) -> Shares:
        """Who gets a part of the split's cost of that day and currency. Kept, because many cells ask the same."""
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
        # A source is never a target, whatever a customer is called.
        recipients = [name for name in names if weights.get(name, 0) > 0 and name not in among.sources]
        # Small numbers are shared out by faster.
        common = gcd(*(weights[name] for name in recipients))
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
