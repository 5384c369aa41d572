"""Add the moves of shared-cost splits to sums, and rank them again. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from finops.costs.queries.spend_lake import ALL_GROUPS, SpendPlan, SpendSum
from finops.lib.answers import places_within
from finops.lib.money import exact_difference, exact_sum

Group = tuple[tuple[str | None, ...], str]
"""A group's values, and the currency."""

_NOTHING = Decimal(0)


def after_splits(plan: SpendPlan, sums: Sequence[SpendSum], moves: Sequence[SpendSum]) -> list[SpendSum]:
    """Return the sums of all groups with the moves added, folded to the plan's `limit` by their new amounts.

    A group with nothing left is removed, unless its currency has no other. Cost: about 6 microseconds for each sum.
    """
    totals = _drop_emptied_groups(_merge(sums, moves), {(move.keys, move.currency) for move in moves})
    if not plan.dimensions or plan.limit == ALL_GROUPS:
        return [total.as_sum(key, plan.limit, 0) for key, total in totals.items()]
    return _fold_rest(plan, totals)


class _Key(NamedTuple):
    """The key of one sum."""

    group: Group
    bucket: date | None
    charge_category: str | None
    part: str | None
    end: int = -1
    lump: str | None = None


@dataclass(slots=True)
class _Total:
    """The measures of a sum; mutable, because there is one for each sum."""

    labels: tuple[str | None, ...]
    amount: Decimal = _NOTHING
    compared: Decimal = _NOTHING
    previous: Decimal = _NOTHING
    allocated: Decimal = _NOTHING
    incomplete: Decimal = _NOTHING

    @classmethod
    def of(cls, part: SpendSum) -> _Total:
        return cls(
            part.labels,
            part.amount or _NOTHING,
            part.compared or _NOTHING,
            part.previous or _NOTHING,
            part.allocated or _NOTHING,
            part.incomplete or _NOTHING,
        )

    def add(self, other: SpendSum | _Total) -> None:
        if other.labels != self.labels:
            pairs = zip(self.labels, other.labels, strict=True)
            self.labels = tuple(max(first or "", second or "") or None for first, second in pairs)
        self.amount = _plus(self.amount, other.amount)
        self.compared = _plus(self.compared, other.compared)
        self.previous = _plus(self.previous, other.previous)
        self.allocated = _plus(self.allocated, other.allocated)
        self.incomplete = _plus(self.incomplete, other.incomplete)

    def as_sum(self, key: _Key, place: int, groups: int) -> SpendSum:
        (keys, currency), bucket, charge_category, part, end, lump = key
        return SpendSum(
            keys=keys,
            labels=self.labels,
            place=place,
            groups=groups,
            currency=currency,
            bucket=bucket,
            charge_category=charge_category,
            part=part,
            amount=self.amount,
            compared=self.compared,
            previous=self.previous,
            allocated=self.allocated,
            incomplete=self.incomplete,
            end=end,
            lump=lump,
        )


def _plus(one: Decimal, other: Decimal) -> Decimal:
    """Return the exact sum; most sums have zeros on most sides."""
    if not other:
        return one
    return exact_sum((one, other)) if one else other


def _merge(*parts: Iterable[SpendSum]) -> dict[_Key, _Total]:
    """Merge totals with the same key."""
    totals: dict[_Key, _Total] = {}
    for part in chain.from_iterable(parts):
        key = _Key(
            (part.keys, part.currency), part.bucket, part.charge_category, part.part, part.end, part.lump
        )
        total = totals.get(key)
        if total is None:
            totals[key] = _Total.of(part)
        else:
            total.add(part)
    return totals


def _drop_emptied_groups(sums: dict[_Key, _Total], touched: set[Group]) -> dict[_Key, _Total]:
    """Remove groups whose whole cost moved away."""
    alive = {key.group for key, total in sums.items() if total.amount or total.compared or total.previous}
    emptied = touched - alive
    if not emptied:
        return sums
    currencies = {key.group[1] for key in sums if key.group not in emptied}
    return {
        key: total
        for key, total in sums.items()
        if key.group not in emptied or key.group[1] not in currencies
    }


def _fold_rest(plan: SpendPlan, sums: Mapping[_Key, _Total]) -> list[SpendSum]:
    """Fold as the lake does: keep the first `limit` groups of a currency by the larger of their absolute amounts."""
    sizes = _sizes(plan, sums)
    order = sorted(sizes, key=lambda group: (group[1], sizes[group].copy_negate(), group[0]))
    places = places_within(order, itemgetter(1))
    counts = Counter(currency for _keys, currency in order)
    nobody = (None,) * len(plan.dimensions)
    listed, other_totals = [], dict[_Key, _Total]()
    for key, total in sums.items():
        place, currency = places.get(key.group, plan.limit), key.group[1]
        if place < plan.limit:
            listed.append(total.as_sum(key, place, counts[currency]))
            continue
        rest_key = key._replace(group=(nobody, currency))
        if rest_key not in other_totals:
            other_totals[rest_key] = _Total(nobody)
        total.labels = nobody
        other_totals[rest_key].add(total)
    return listed + [total.as_sum(key, plan.limit, 0) for key, total in other_totals.items()]


def _sizes(plan: SpendPlan, sums: Mapping[_Key, _Total]) -> dict[Group, Decimal]:
    """Return what groups are ranked by, as in the lake."""
    by_change = plan.order_by == "change" and plan.previous is not None
    amounts: dict[Group, tuple[Decimal, Decimal]] = {}
    for key, total in sums.items():
        if plan.categories and key.charge_category not in plan.categories:
            continue
        amount, previous = amounts.get(key.group, (_NOTHING, _NOTHING))
        now = total.compared if by_change else total.amount
        amounts[key.group] = _plus(amount, now), _plus(previous, total.previous)
    if by_change:
        return {group: exact_difference(now, before).copy_abs() for group, (now, before) in amounts.items()}
    return {group: max(each.copy_abs() for each in sides) for group, sides in amounts.items()}
