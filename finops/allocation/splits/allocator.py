"""Allocate the cost of sources to targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from math import prod
from typing import NamedTuple

from finops.allocation.splits.daily_shares import allocate_by_day
from finops.allocation.splits.rules import Split, SplitDimension
from finops.allocation.splits.shares import NO_SHARES, Shares, Weights
from finops.lib.errors import UserError

Keys = tuple[str, ...]

MAX_PARTS = 1_000_000
"""The maximum of parts of one question's cost. All work on so many takes about 6 s of a core; a tool has 20 s."""
MAX_PRODUCTS = 150_000_000
"""The maximum of cells x targets of one question; about 7 s of a core."""


class TimePosition(NamedTuple):
    """The position of a day in an answer: its bucket, and the sides of the comparison that include the day."""

    bucket: date | None = None
    inside: bool = True
    compared: bool = False
    previous: bool = False
    incomplete: bool = False
    end: int = -1


class CostGroup(NamedTuple):
    """Cost with the same keys in everything that an answer distinguishes.

    `keys` are the values of the question's groups. For each dimension with splits, `values` has its value (None: not
    a source) and `passes` whether the line passes the question's filters on it. `other` holds what never moves:
    charge category and part.
    """

    keys: Keys
    values: tuple[str | None, ...]
    passes: tuple[bool, ...]
    when: TimePosition
    currency: str
    other: tuple[str | None, ...]


class Cell(NamedTuple):
    """The cost of a lot on one day, in smallest units; where no split of the lot changes daily, from that day on."""

    lot: CostGroup
    day: date
    amount: int


class SplitMove(NamedTuple):
    """An amount to add to these keys of the lot (negative: to subtract). `allocated`: a split on one of the
    question's groups moved it here."""

    lot: CostGroup
    keys: Keys
    amount: int
    allocated: bool


@dataclass
class AllocationResult:
    """The effect of the splits: what each took, gave to each target, and left because no target has a weight."""

    moves: list[SplitMove] = field(default_factory=list)
    moved: list[tuple[Split, CostGroup, int]] = field(default_factory=list)
    received: list[tuple[Split, CostGroup, Mapping[str, int]]] = field(default_factory=list)
    stayed: list[tuple[Split, CostGroup, date, int]] = field(default_factory=list)


def allocate_cells(
    cells: Iterable[Cell],
    dimensions: Sequence[SplitDimension],
    weights: Weights,
    labels: Mapping[tuple[str, str], str] | None = None,
) -> AllocationResult:
    """Return the difference that the splits of each dimension make to every lot.

    A lot is divided by each day's weights and rounded once, see `allocate_by_day`. The moves of a lot that passes the
    filters before and after add up to 0. `labels` are the display names of targets by (dimension, value), which
    filters match too. Cost: cells x targets, about 0.05 microseconds each, and 3 for each part of a lot. Raises
    UserError above MAX_PARTS and MAX_PRODUCTS.
    """
    routes = _Routes(dimensions, weights)
    result = AllocationResult()
    for lot, day, amount in cells:
        way = routes.way(lot, day)
        result.stayed += [(split, lot, day, amount) for split in way.stayed]
        if way.amounts is not None:
            way.amounts[lot] = way.amounts.get(lot, 0) + amount
    _check_size(routes.by_splits.values())
    for route in routes.by_splits.values():
        _Allocator(route, dimensions, labels or {}, result).go()
    return result


class _Destination(NamedTuple):
    """The destination of cost with certain values on a day: the amounts to add to, or None when it stays."""

    amounts: dict[CostGroup, int] | None
    stayed: tuple[Split, ...]


@dataclass
class _Route:
    """Cost that the same splits move, grouped by the shares that apply on its days."""

    splits: tuple[Split | None, ...]
    days: dict[tuple[Shares, ...], dict[CostGroup, int]] = field(default_factory=dict)

    @property
    def active_splits(self) -> list[tuple[int, Split]]:
        """The splits that move cost, each with the index of its dimension."""
        return [(index, split) for index, split in enumerate(self.splits) if split is not None]

    def targets(self) -> list[list[str]]:
        """Return the targets of each split that get a share on any day, in order."""
        targets = []
        for index, split in self.active_splits:
            weighted = {name for shares in self.days for name in shares[index].weights}
            targets.append([name for name in split.targets if name in weighted] or sorted(weighted))
        return targets

    def weights(self, shares: tuple[Shares, ...], targets: list[list[str]]) -> list[int]:
        """Return the weight of each combination of targets. With splits on two dimensions, weights are multiplied."""
        products = [1]
        for (index, _split), names in zip(self.active_splits, targets, strict=True):
            own_weights = shares[index].weights
            row = [own_weights.get(name, 0) for name in names]
            products = [product * other for product in products for other in row]
        return products


@dataclass
class _Routes:
    dimensions: Sequence[SplitDimension]
    weights: Weights
    by_splits: dict[tuple[int | None, ...], _Route] = field(default_factory=dict)
    _ways: dict[tuple[tuple[str | None, ...], date, str], _Destination] = field(default_factory=dict)

    def way(self, lot: CostGroup, day: date) -> _Destination:
        key = (lot.values, day, lot.currency)
        destination = self._ways.get(key)
        if destination is None:
            destination = self._ways[key] = self._find(*key)
        return destination

    def _find(self, values: tuple[str | None, ...], day: date, currency: str) -> _Destination:
        splits: list[Split | None] = []
        shares: list[Shares] = []
        stayed: list[Split] = []
        for among, value in zip(self.dimensions, values, strict=True):
            split = among.split_of(value, day) if value is not None else None
            share = self.weights.of(among, split, day, currency) if split else NO_SHARES
            if split and not share.weights:
                stayed.append(split)
            splits.append(split if share.weights else None)
            shares.append(share)
        if not any(splits):
            return _Destination(None, tuple(stayed))
        name = tuple(split.id if split else None for split in splits)
        route = self.by_splits.setdefault(name, _Route(tuple(splits)))
        return _Destination(route.days.setdefault(tuple(shares), {}), tuple(stayed))


def _check_size(routes: Iterable[_Route]) -> None:
    """Raises UserError where the allocation would take the whole time limit of a tool."""
    parts = products = 0
    for route in routes:
        each = prod(len(names) for names in route.targets())
        parts += each * len({lot for amounts in route.days.values() for lot in amounts})
        products += each * sum(len(amounts) for amounts in route.days.values())
    if parts > MAX_PARTS or products > MAX_PRODUCTS:
        raise UserError(
            f"Shared costs have {parts:,} parts by group, bucket and target (maximum {MAX_PARTS:,}), "
            f"or more than {MAX_PRODUCTS:,} by day. Use fewer days, one group_by, a filter, or splits "
            "before."
        )


@dataclass
class _Allocator:
    """The allocation of one route's lots."""

    route: _Route
    dimensions: Sequence[SplitDimension]
    labels: Mapping[tuple[str, str], str]
    result: AllocationResult

    def go(self) -> None:
        targets = self.route.targets()
        ends = list(product(*targets))
        let_in = self._filter_mask(targets)
        days = [(self.route.weights(shares, targets), amounts) for shares, amounts in self.route.days.items()]
        for lot, (amount, parts) in allocate_by_day(days).items():
            self._record(lot, amount, ends, parts)
            if all(lot.passes):
                self.result.moves.append(SplitMove(lot, lot.keys, -amount, False))
            if self._passes_other_filters(lot):
                arrived = zip(ends, parts, let_in, strict=True)
                self._move(lot, [(end, part) for end, part, let in arrived if let and part])

    def _record(self, lot: CostGroup, amount: int, ends: list[Keys], parts: list[int]) -> None:
        for place, (_index, split) in enumerate(self.route.active_splits):
            received: dict[str, int] = {}
            for end, part in zip(ends, parts, strict=True):
                if part:
                    received[end[place]] = received.get(end[place], 0) + part
            self.result.moved.append((split, lot, amount))
            self.result.received.append((split, lot, received))

    def _passes_other_filters(self, lot: CostGroup) -> bool:
        """Return whether the lot passes the filters on the dimensions that it does not move in."""
        return all(
            passes for passes, split in zip(lot.passes, self.route.splits, strict=True) if split is None
        )

    def _filter_mask(self, targets: list[list[str]]) -> list[bool]:
        """Return for each combination of targets whether the filters include it."""
        masks = []
        for (index, _split), names in zip(self.route.active_splits, targets, strict=True):
            among = self.dimensions[index]
            masks.append(
                [among.passes_filters(name, self.labels.get((among.dimension.name, name))) for name in names]
            )
        return [all(each) for each in product(*masks)]

    def _move(self, lot: CostGroup, arrived: list[tuple[Keys, int]]) -> None:
        places = [
            (place, number)
            for number, (index, _split) in enumerate(self.route.active_splits)
            for place in self.dimensions[index].places
        ]
        keys, allocated, moves = list(lot.keys), bool(places), self.result.moves
        for end, amount in arrived:
            for place, number in places:
                keys[place] = end[number]
            moves.append(SplitMove(lot, tuple(keys), amount, allocated))
