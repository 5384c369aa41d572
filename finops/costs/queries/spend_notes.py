"""What an answer about spend says beside its amount. Higher apps add theirs to `spend_notes`.

Only for the tool and the explorer, whose readers ask by names of their own; a page with a query of its own needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounts.models import Account
from finops.costs.dimensions import DimensionContext
from finops.costs.queries.spend_lake import SpendPlan, SpendSum
from finops.lib.registry import Registry


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


spend_notes: Registry[Callable[[SpendNoteContext], SpendNotes]] = Registry("spend note")


def related_notes(question: SpendNoteContext) -> SpendNotes:
    """All of them, in the order of registration."""
    notes = [note(question) for note in spend_notes.values()]
    return SpendNotes(
        "".join(each.clause for each in notes),
        tuple(sentence for each in notes for sentence in each.warnings),
    )
