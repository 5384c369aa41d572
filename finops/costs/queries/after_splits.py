"""Sums with what shared-cost splits move in them, ranked again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from finops.costs.queries.spend_lake import ALL_GROUPS, SpendPlan, SpendSum
from finops.lib.money import added

Group = tuple[tuple[str | None, ...], str]
"""A group's values, and the currency."""

_NOTHING = Decimal(0)


def after_splits(plan: SpendPlan, sums: Sequence[SpendSum], moves: Sequence[SpendSum]) -> list[SpendSum]:
    """The sums of all groups with the moves added, folded to the plan's `top` by what they are then.

    A group that has nothing left is gone, unless its currency has no other.
    """
    found = _emptied(_merged([*sums, *moves], groups_apart=True), {_group(move) for move in moves})
    if not plan.dimensions or plan.top == ALL_GROUPS:
        return found
    return _merged(_folded(plan, found), groups_apart=False)


def _group(part: SpendSum) -> Group:
    return part.keys, part.currency


def _merged(sums: Iterable[SpendSum], *, groups_apart: bool) -> list[SpendSum]:
    """One sum for all that is alike."""
    found: dict[tuple[object, ...], SpendSum] = {}
    for part in sums:
        place = None if groups_apart else part.place
        key = (part.keys, place, part.currency, part.bucket, part.charge_category, part.part)
        known = found.get(key)
        found[key] = part if known is None else _plus(known, part)
    return list(found.values())


def _plus(one: SpendSum, other: SpendSum) -> SpendSum:
    return replace(
        one,
        labels=tuple(_label(*pair) for pair in zip(one.labels, other.labels, strict=True)),
        amount=added([one.amount, other.amount]),
        compared=added([one.compared, other.compared]),
        previous=added([one.previous, other.previous]),
        allocated=added([one.allocated, other.allocated]),
    )


def _label(one: str | None, other: str | None) -> str | None:
    return max(one or "", other or "") or None


def _emptied(sums: list[SpendSum], touched: set[Group]) -> list[SpendSum]:
    """Without groups that moved away whole."""
    alive = {_group(part) for part in sums if part.amount or part.compared or part.previous}
    kept = [part for part in sums if _group(part) in alive or _group(part) not in touched]
    currencies = {part.currency for part in kept}
    return kept + [part for part in sums if part.currency not in currencies]


def _folded(plan: SpendPlan, sums: Sequence[SpendSum]) -> list[SpendSum]:
    """As the lake folds: the first `top` groups of a currency by the larger of their amounts whatever the sign."""
    sizes = _sizes(plan, sums)
    order = sorted(sizes, key=lambda group: (group[1], sizes[group].copy_negate(), group[0]))
    places: dict[Group, int] = {}
    counts: dict[str, int] = {}
    for group in order:
        places[group] = counts.get(group[1], 0)
        counts[group[1]] = places[group] + 1
    nobody = (None,) * len(plan.dimensions)
    return [
        replace(part, place=places[_group(part)], groups=counts[part.currency])
        if places.get(_group(part), plan.top) < plan.top
        else replace(part, keys=nobody, labels=nobody, place=plan.top, groups=0)
        for part in sums
    ]


def _sizes(plan: SpendPlan, sums: Sequence[SpendSum]) -> dict[Group, Decimal]:
    amounts: dict[Group, list[Decimal]] = {}
    for part in sums:
        if plan.categories and part.charge_category not in plan.categories:
            continue
        known = amounts.setdefault(_group(part), [_NOTHING, _NOTHING])
        known[0], known[1] = added([known[0], part.amount]), added([known[1], part.previous])
    return {group: max(each.copy_abs() for each in found) for group, found in amounts.items()}
