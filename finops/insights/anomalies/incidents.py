"""Which anomalies are one incident, seen by several dimensions: a service, the team that uses it, its account. Pure.

Two are the same where their days overlap and so does their money: the root causes of one say how much of it is the other's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from finops.lib.money import exact_sum

MOSTLY = Decimal("0.5")
"""One of whose impact others hold so large a part is a view of them."""

COMPARED = ("resource", "actor", "usage_type", "service")
"""Causes, the finest first, that tell the money of two dimensions apart where neither knows the other."""

ZERO = Decimal(0)


@dataclass(frozen=True)
class View:
    """An anomaly; `causes`: excess by dimension and value. `is_service`: the dimension that every source is watched by."""

    id: int
    source_id: int
    currency: str
    dimension: str
    value: str
    is_service: bool
    first: date
    last: date
    impact: Decimal
    causes: Mapping[str, Mapping[str, Decimal]]

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1


@dataclass(frozen=True)
class IncidentRole:
    """`primary`: the view that stands for its incident, None if it is that itself. `shared`: how much of its impact other
    incidents count already."""

    primary: int | None = None
    shared: Decimal = ZERO


def incidents(views: Iterable[View]) -> dict[int, IncidentRole]:
    """The place of each anomaly. Services stand for themselves, as their lines are each in one alone; another dimension's is a
    view of the one that holds most of it. The same views give the same incidents, in any order."""
    roles: dict[int, IncidentRole] = {}
    primaries: list[View] = []
    for view in sorted(
        views, key=lambda each: (not each.is_service, -abs(each.impact), each.dimension, each.id)
    ):
        shares = [] if view.is_service else [(shared_impact(view, other), other) for other in primaries]
        shared = min(exact_sum(amount for amount, _other in shares), abs(view.impact))
        if shared and shared >= MOSTLY * abs(view.impact):
            best = max(shares, key=lambda pair: (pair[0], -pair[1].id))
            roles[view.id] = IncidentRole(best[1].id, shared)
            continue
        roles[view.id] = IncidentRole(None, shared)
        primaries.append(view)
    return roles


def shared_impact(view: View, other: View) -> Decimal:
    """How much of a view's impact is the other's; 0 where their days, source, currency or direction are not the same."""
    together = (min(view.last, other.last) - max(view.first, other.first)).days + 1
    same = (view.source_id, view.currency, view.impact > 0) == (
        other.source_id,
        other.currency,
        other.impact > 0,
    )
    if not same or view.dimension == other.dimension or together * 2 < min(view.days, other.days):
        return ZERO
    most = min(abs(view.impact), abs(other.impact))
    for one, that in ((view, other), (other, view)):
        if that.dimension in one.causes:
            return min(most, _size(one.causes[that.dimension].get(that.value, ZERO), view))
    finest = next((name for name in COMPARED if name in view.causes and name in other.causes), "")
    mine, theirs = view.causes.get(finest, {}), other.causes.get(finest, {})
    common = (min(_size(mine[value], view), _size(theirs[value], view)) for value in mine if value in theirs)
    return min(most, exact_sum(common))


def _size(excess: Decimal, view: View) -> Decimal:
    """The excess as far as it goes the way of the view."""
    return max(ZERO, excess if view.impact > 0 else -excess)
