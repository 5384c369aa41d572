"""The effect of each split, in words and amounts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TypeVar

from finops.allocation.splits import AllocationResult, CostGroup, Split, SplitDimension, from_units
from finops.allocation.splits.rules import PROPORTIONAL, USAGE
from finops.costs.answers import AppliedSplit
from finops.costs.queries.spend_lake import SpendPlan
from finops.costs.split_registry import ReceivedAmount, SplitEffect, amounts_of
from finops.lib.sentences import join_with_and, money, truncate

Key = TypeVar("Key")

SHOWN_DAYS = 3
NAME_LENGTH = 60


@dataclass
class _SplitSums:
    moved: dict[str, int] = field(default_factory=dict)
    stayed: dict[str, int] = field(default_factory=dict)
    received: dict[tuple[str, str], int] = field(default_factory=dict)
    days: set[date] = field(default_factory=set)


def effects_of(
    dimensions: Sequence[SplitDimension], plan: SpendPlan, result: AllocationResult
) -> list[SplitEffect]:
    """Return one effect per split, by name, for the requested days and the charge categories that count."""
    sums = {split.id: _SplitSums() for each in dimensions for split in each.splits}
    for split, lot, amount in result.moved:
        if _is_counted(plan, lot):
            _add(sums[split.id].moved, lot.currency, amount)
    for split, lot, received in result.received:
        if _is_counted(plan, lot):
            for target, amount in received.items():
                _add(sums[split.id].received, (target, lot.currency), amount)
    for split, lot, day, amount in result.stayed:
        if _is_counted(plan, lot) and amount:
            _add(sums[split.id].stayed, lot.currency, amount)
            sums[split.id].days.add(day)
    splits = {split.id: split for each in dimensions for split in each.splits}
    return [_effect(split, sums[split.id]) for split in sorted(splits.values(), key=lambda each: each.name)]


def _is_counted(plan: SpendPlan, lot: CostGroup) -> bool:
    return lot.when.inside and plan.counts(lot.other[0])


def _add(sums: dict[Key, int], key: Key, amount: int) -> None:
    sums[key] = sums.get(key, 0) + amount


def _effect(split: Split, sums: _SplitSums) -> SplitEffect:
    return SplitEffect(
        split_id=split.id,
        applied=AppliedSplit(
            name=split.name,
            dimension=split.dimension,
            source_value=split.source,
            moved=amounts_of(_decimals(sums.moved)),
            stayed=amounts_of(_decimals(sums.stayed)),
            reason=_reason(split, sorted(sums.days)),
        ),
        received=[
            ReceivedAmount(target, from_units(amount), currency)
            for (target, currency), amount in sums.received.items()
        ],
    )


def _decimals(sums: dict[str, int]) -> dict[str, Decimal]:
    return {currency: from_units(amount) for currency, amount in sums.items()}


def _reason(split: Split, days: Sequence[date]) -> str:
    if not days:
        return ""
    shown = [day.isoformat() for day in days[:SHOWN_DAYS]]
    more = len(days) - len(shown)
    when = join_with_and([*shown, *([f"{more} more days" if more > 1 else "1 more day"] if more else [])])
    if split.method == PROPORTIONAL:
        return f"No target has cost in that currency on {when}."
    if split.method == USAGE:
        return f"No target has usage of {truncate(split.usage_metric, NAME_LENGTH)!r} on {when}."
    return f"No targets on {when}."


def unallocated_warnings(effects: Iterable[SplitEffect]) -> list[str]:
    """Return a warning for each split that left cost at its source."""
    return [
        f"Split {each.applied.name!r} did not split "
        f"{join_with_and([money(part.amount, part.currency) for part in each.applied.stayed])} on "
        f"{truncate(each.applied.source_value, NAME_LENGTH)!r}: {each.applied.reason}"
        for each in effects
        if each.applied.stayed
    ]
