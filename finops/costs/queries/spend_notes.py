"""What an answer about spend names beside its amount. Higher rooms register theirs when they start.

    @spend_beside.register("other_spellings")
    def _other_spellings(question: SpendNoteContext) -> Beside: …

Only for the tool and the explorer, whose readers ask by names of their own; a page that asks its own question needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounts.models import Account
from finops.costs.dimensions import DimensionContext
from finops.costs.queries.spend_lake import SpendPlan, SpendSum


@dataclass(frozen=True)
class SpendNoteContext:
    """A question with its answer: its sums, and `amounts`, the totals of what counts by currency."""

    account: Account
    plan: SpendPlan
    context: DimensionContext
    sums: Sequence[SpendSum]
    amounts: Mapping[str, Decimal]
    deadline: float | None
    as_lines: str = ""
    """How lines count where the sums have been split or spread: before splits, or on their own days; else empty."""


@dataclass(frozen=True)
class SpendNotes:
    """`clause` goes into the first sentence and begins with a semicolon; empty where nothing is worth it there."""

    clause: str = ""
    warnings: tuple[str, ...] = ()


Reader = Callable[[SpendNoteContext], SpendNotes]

_readers: dict[str, Reader] = {}


def register(name: str) -> Callable[[Reader], Reader]:
    """Add a reader; ValueError when the name is taken."""

    def add(reader: Reader) -> Reader:
        if name in _readers:
            raise ValueError(f"What stands beside spend, {name!r}, is registered twice.")
        _readers[name] = reader
        return reader

    return add


def related_notes(question: SpendNoteContext) -> SpendNotes:
    """What all readers say, in the order of registration."""
    notes = [reader(question) for reader in _readers.values()]
    return SpendNotes(
        "".join(each.clause for each in notes),
        tuple(sentence for each in notes for sentence in each.warnings),
    )
