"""From the cost of sources, day by day, to what moves where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from finops.allocation.splits.rules import Split, SplitDimension
from finops.allocation.splits.shares import shared_out
from finops.allocation.splits.weights import Weights
from finops.lib.errors import UserError

Keys = tuple[str, ...]

MAX_PARTS = 500_000
"""Parts of one question; with all that is done with each they take about 8 s of a busy core, and a tool has 20."""


@dataclass(frozen=True)
class Cell:
    """Cost of one day that is alike in all that an answer tells apart, in smallest units.

    `keys` are the values of the question's groups; for each dimension with splits `values` has its value (None: no
    source of it) and `passes` whether the line passes the question's filters on it. `other` is what never moves:
    charge category and part.
    """

    keys: Keys
    values: tuple[str | None, ...]
    passes: tuple[bool, ...]
    day: date
    currency: str
    other: tuple[str | None, ...]
    amount: int


class Piece(NamedTuple):
    """A part of a cell after the splits. `allocated`: a split on one of the question's groups brought it here.

    A tuple, because there is one for each cell and target: a dataclass takes three times as long to make.
    """

    keys: Keys
    passes: tuple[bool, ...]
    amount: int
    allocated: bool = False


@dataclass
class Moving:
    """What the splits did. `moves` have the cell, the keys, the amount added there (below 0: taken away), and how much
    of it was allocated; `moved` and `received` what each split took and gave, `stayed` what had nothing to be shared out
    by, each as (split, cell, …, amount)."""

    moves: list[tuple[Cell, Keys, int, int]] = field(default_factory=list)
    moved: list[tuple[Split, Cell, int]] = field(default_factory=list)
    received: list[tuple[Split, Cell, str, int]] = field(default_factory=list)
    stayed: list[tuple[Split, Cell, int]] = field(default_factory=list)


def moved(
    cells: Iterable[Cell],
    dimensions: Sequence[SplitDimension],
    weights: Weights,
    labels: Mapping[tuple[str, str], str] | None = None,
) -> Moving:
    """Every cell after the splits of each dimension, one dimension after the other, less what it was before.

    The moves of a cell that passes the filters before and after add up to 0. `labels` are the readable names of
    targets by (dimension, value), which filters look at too. Cost: cells x targets, about four microseconds each.
    Raises UserError beyond MAX_PARTS.
    """
    run = _Run(dimensions, weights, labels or {})
    for cell in cells:
        run.take(cell)
        if len(run.found.received) > MAX_PARTS:
            raise UserError(
                f"Shared costs fall into more than {MAX_PARTS:,} parts by day, group and target here. Ask for fewer "
                "days or one group_by, filter, or ask with splits before."
            )
    return run.found


@dataclass
class _Run:
    dimensions: Sequence[SplitDimension]
    weights: Weights
    labels: Mapping[tuple[str, str], str]
    found: Moving = field(default_factory=Moving)
    _let_in: dict[tuple[int, str], bool] = field(default_factory=dict)

    def take(self, cell: Cell) -> None:
        whole = Piece(cell.keys, cell.passes, cell.amount)
        pieces = [whole]
        for index in range(len(self.dimensions)):
            pieces = [part for piece in pieces for part in self._split(index, cell, piece)]
        if pieces == [whole]:
            return
        if all(cell.passes):
            self.found.moves.append((cell, cell.keys, -cell.amount, 0))
        self.found.moves += [
            (cell, piece.keys, piece.amount, piece.amount if piece.allocated else 0)
            for piece in pieces
            if all(piece.passes)
        ]

    def _split(self, index: int, cell: Cell, piece: Piece) -> Iterator[Piece]:
        among = self.dimensions[index]
        value = piece.keys[among.places[0]] if among.places else cell.values[index]
        split = among.split_of(value, cell.day) if value is not None else None
        if split is None:
            yield piece
            return
        targets, weights = self.weights.of(among, split, cell.day, cell.currency)
        if not targets:
            self.found.stayed.append((split, cell, piece.amount))
            yield piece
            return
        self.found.moved.append((split, cell, piece.amount))
        for target, amount in zip(targets, shared_out(piece.amount, weights), strict=True):
            self.found.received.append((split, cell, target, amount))
            yield self._piece(index, piece, target, amount)

    def _piece(self, index: int, piece: Piece, target: str, amount: int) -> Piece:
        among = self.dimensions[index]
        keys, passes = piece.keys, piece.passes
        for place in among.places:
            keys = (*keys[:place], target, *keys[place + 1 :])
        if among.filters:
            passes = (*passes[:index], self._lets_in(index, target), *passes[index + 1 :])
        return Piece(keys, passes, amount, piece.allocated or bool(among.places))

    def _lets_in(self, index: int, target: str) -> bool:
        known = self._let_in.get((index, target))
        if known is None:
            among = self.dimensions[index]
            known = among.lets_in(target, self.labels.get((among.dimension.name, target)))
            self._let_in[index, target] = known
        return known
