"""Splits computed by plain Python from cost lines, one after the other, in fractions. Shares no code with the queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.factories.costs import Line, key_of

Usage = Mapping[tuple[str, date], Mapping[str, Decimal]]
"""By metric and day, then by customer."""


@dataclass(frozen=True)
class PlainSplit:
    """One split; `targets` with their percents, which only method fixed has. No targets: every customer."""

    dimension: str
    source: str
    method: str
    targets: tuple[tuple[str, Decimal | None], ...] = ()
    metric: str = ""
    valid_from: date = date.min
    valid_to: date = date.max


@dataclass(frozen=True)
class Plain:
    """The rows that everything is computed from."""

    lines: Sequence[Line]
    splits: Sequence[PlainSplit]
    usage: Usage
    column: str = "billed_cost"
    categories: tuple[str, ...] = ()

    def amount(self, line: Line) -> Fraction:
        return Fraction(line[self.column])

    def counts(self, line: Line) -> bool:
        return not self.categories or line["charge_category"] in self.categories

    def after(
        self,
        dimensions: Sequence[str],
        passes: Callable[[Mapping[str, str]], bool],
        key: Callable[[Line, Mapping[str, str]], Any],
    ) -> dict[Any, Fraction]:
        """The sums after splits by whatever `key` gives of a line and its values, of what passes."""
        sums: dict[Any, Fraction] = defaultdict(Fraction)
        for line in filter(self.counts, self.lines):
            for values, share in self._spread(line, dimensions):
                if passes(values):
                    sums[key(line, values)] += self.amount(line) * share
        return dict(sums)

    def _spread(self, line: Line, dimensions: Sequence[str]) -> Iterator[tuple[dict[str, str], Fraction]]:
        """What a line's values are after the splits of each dimension, and the share of its cost that is there."""
        spread: list[tuple[dict[str, str], Fraction]] = [({}, Fraction(1))]
        for name in dimensions:
            shares = self.shares(name, key_of(line, name), line["charge_date"], line["currency"])
            spread = [
                ({**values, name: target}, share * part)
                for values, share in spread
                for target, part in shares.items()
            ]
        yield from spread

    def shares(self, dimension: str, value: str, day: date, currency: str) -> dict[str, Fraction]:
        """Where a value's cost of a day goes."""
        for split in self.splits:
            if (split.dimension, split.source) == (dimension, value) and (
                split.valid_from <= day <= split.valid_to
            ):
                weights = self._weights(split, day, currency)
                whole = sum(weights.values(), Fraction(0))
                return (
                    {name: weight / whole for name, weight in weights.items()}
                    if whole
                    else {value: Fraction(1)}
                )
        return {value: Fraction(1)}

    def _weights(self, split: PlainSplit, day: date, currency: str) -> dict[str, Fraction]:
        names = [name for name, _percent in split.targets]
        if split.method == "even":
            return dict.fromkeys(names, Fraction(1))
        if split.method == "fixed":
            return {name: Fraction(percent or 0) for name, percent in split.targets if percent}
        if split.method == "proportional":
            weights = {name: self._cost(split.dimension, name, day, currency) for name in names}
        else:
            used = self.usage.get((split.metric, day), {})
            weights = {name: Fraction(used.get(name, 0)) for name in (names or used)}
        sources = {other.source for other in self.splits if other.dimension == split.dimension}
        return {name: weight for name, weight in weights.items() if weight > 0 and name not in sources}

    def _cost(self, dimension: str, value: str, day: date, currency: str) -> Fraction:
        return sum(
            (
                self.amount(line)
                for line in filter(self.counts, self.lines)
                if line["charge_date"] == day
                and line["currency"] == currency
                and key_of(line, dimension) == value
            ),
            Fraction(0),
        )
