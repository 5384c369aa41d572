"""The rules of a split, and the choice of the split that applies to a value's cost on a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

from finops.costs.dimensions import Dimension
from finops.costs.filters import ResolvedFilter

EVEN, PROPORTIONAL, FIXED, USAGE = "even", "proportional", "fixed", "usage"


@dataclass(frozen=True)
class Split:
    """Cost of `source` allocated to `targets` in their order; without targets, to every customer of the metric.

    `percents` has one percentage per target where the method is fixed.
    """

    id: int
    name: str
    dimension: str
    source: str
    method: str
    targets: tuple[str, ...] = ()
    percents: tuple[Decimal, ...] = ()
    usage_metric: str = ""
    valid_from: date | None = None
    valid_to: date | None = None

    @property
    def every_customer(self) -> bool:
        return self.method == USAGE and not self.targets

    def is_valid_on(self, day: date) -> bool:
        return (self.valid_from is None or self.valid_from <= day) and (
            self.valid_to is None or day <= self.valid_to
        )


@dataclass(frozen=True)
class SplitDimension:
    """A dimension of a question that has splits.

    `places` are the indexes of the question's groups by it (none: it is only filtered by), `filters` the question's
    filters on it.
    """

    dimension: Dimension
    splits: tuple[Split, ...]
    places: tuple[int, ...] = ()
    filters: tuple[ResolvedFilter, ...] = ()

    @cached_property
    def sources(self) -> frozenset[str]:
        return frozenset(split.source for split in self.splits)

    @cached_property
    def by_source(self) -> dict[str, list[Split]]:
        by_source_value: dict[str, list[Split]] = {}
        for split in self.splits:
            by_source_value.setdefault(split.source, []).append(split)
        return by_source_value

    @property
    def proportional_targets(self) -> tuple[str, ...]:
        """The targets whose cost is a weight, by name."""
        return _targets([split for split in self.splits if split.method == PROPORTIONAL])

    @property
    def targets(self) -> tuple[str, ...]:
        """Every named target, by name."""
        return _targets(self.splits)

    def split_of(self, value: str, day: date) -> Split | None:
        """Return the split of this value on that day; the first by name if two are valid."""
        return next((split for split in self.by_source.get(value, ()) if split.is_valid_on(day)), None)

    def is_steady(self, split: Split) -> bool:
        """Return whether the split has the same shares on each of its days, so that the days can be added first."""
        return split.method in (EVEN, FIXED) and any(target not in self.sources for target in split.targets)

    @cached_property
    def daily_sources(self) -> frozenset[str]:
        """The sources whose cost is needed day by day."""
        return frozenset(split.source for split in self.splits if not self.is_steady(split))

    def passes_filters(self, value: str, label: str | None) -> bool:
        """Return whether cost moved to this value passes the question's filters on the dimension."""
        return all(item.matches_value(value, label) for item in self.filters)


def _targets(splits: Sequence[Split]) -> tuple[str, ...]:
    return tuple(sorted({target for split in splits for target in split.targets}))
