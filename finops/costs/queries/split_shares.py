"""What shared-cost splits would change in an answer before them: its total, or who would have more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from finops.costs.dated_names import undated
from finops.costs.queries.spend_lake import SpendPlan, SpendSum
from finops.costs.queries.sum_names import with_names
from finops.costs.splitting import SplitQuestion, Splitting, is_shared_out, splitting_of
from finops.lib.errors import UserError
from finops.lib.money import added

ZERO = Decimal(0)

Keys = tuple[str | None, ...]


@dataclass(frozen=True)
class SplitGain:
    """What splits would add to a group."""

    name: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class AfterSplits:
    """`totals`: by currency after splits, where filters make it another amount; `gains`: by group, the largest first."""

    totals: Mapping[str, Decimal] = field(default_factory=dict)
    gains: Sequence[SplitGain] = ()


def after_splits_of(question: SplitQuestion, sums: Sequence[SpendSum], *, with_groups: bool) -> AfterSplits:
    """What splits would change of the sums of a question, which are before them.

    Only for filters that choose values of what splits are made on and, `with_groups`, for groups by such. One query of
    PostgreSQL, and what `splitting_of` costs where a split is on such a dimension.
    """
    plan = question.plan
    chosen = any(item.op == "in" and is_shared_out(item.dimension.name) for item in plan.filters)
    groups = tuple(each for each in plan.dimensions if with_groups and is_shared_out(each.name))
    if not chosen and not groups:
        return AfterSplits()
    alone = replace(plan, dimensions=groups, granularity="none", compared=None, previous=None)
    try:
        found = splitting_of(replace(question, plan=alone))
    except UserError:
        # Too many sums to say it beside; asking with splits after says the same with what to do.
        return AfterSplits()
    moved = counted_by(plan, found.moves) if chosen else {}
    after = counted_by(plan, [*sums, *found.moves]) if any(moved.values()) else {}
    totals = {currency: amount for (_, currency), amount in after.items()}
    return AfterSplits(totals, _gains(alone, found) if groups else ())


def _gains(plan: SpendPlan, found: Splitting) -> list[SplitGain]:
    """Of all but the sources of the splits."""
    sources = {effect.applied.source_value.casefold() for effect in found.effects}
    moves = with_names(plan, found.moves)
    names = {
        move.keys: " / ".join(
            undated(label) or key or "" for key, label in zip(move.keys, move.labels, strict=True)
        )
        for move in moves
    }
    sums = counted_by(plan, moves, range(len(plan.dimensions)))
    gains = [
        SplitGain(names[keys], amount, currency)
        for (keys, currency), amount in sums.items()
        if amount and not sources & {(key or "").casefold() for key in keys}
    ]
    return sorted(gains, key=lambda gain: (-gain.amount.copy_abs(), gain.currency, gain.name))


def counted_by(
    plan: SpendPlan, sums: Sequence[SpendSum], places: Sequence[int] = ()
) -> dict[tuple[Keys, str], Decimal]:
    """What counts of the sums, by the values of these dimensions of the plan and the currency."""
    found: dict[tuple[Keys, str], Decimal] = {}
    for part in sums:
        if not plan.categories or part.charge_category in plan.categories:
            key = tuple(part.keys[place] for place in places), part.currency
            found[key] = added([found.get(key, ZERO), part.amount])
    return found
