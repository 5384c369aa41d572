"""Groups anomalies into incidents. Pure.

    overlap of A and B = excess of A's days in the lines that belong to both
    B joins A if the overlap is at least JOIN_SHARE of B's impact

Services share no lines, so they do not overlap; they are one incident if one resource or actor explains both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from finops.lib.money import exact_sum

JOIN_SHARE: Final = Decimal("0.5")
"""Share of an anomaly's impact in another incident from which it belongs to that incident."""

ROOT_CAUSE_SHARE: Final = Decimal("0.8")
"""Minimum share of an incident's amount that its headline has, and of a service's amount that its root cause has."""

ROOTS: Final = ("resource", "actor")
"""Dimensions whose values make anomalies of two services one incident."""

COMPARABLE_CAUSES: Final = ("resource", "actor", "usage_type", "service")
"""Dimensions, finest first, by which the amounts of two monitored dimensions are compared if neither lists the other.
"""

BROAD_DIMENSIONS: Final = ("account", "region")

ZERO: Final = Decimal(0)


@dataclass(frozen=True)
class View:
    """An anomaly. `causes`: excess by dimension and value, the largest values; `overlaps`: the same by monitored
    dimension, as measured in the lake. `is_service`: whether it is of the dimension that every source is monitored
    by."""

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
    overlaps: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def size(self) -> Decimal:
        return self.impact.copy_abs()

    @property
    def rank(self) -> tuple[bool, Decimal, str, int]:
        """Sort key: services first, since none of their cost is in two; then the largest."""
        return not self.is_service, -self.size, self.dimension, self.id


@dataclass(frozen=True)
class IncidentGroup:
    """An incident, by the ids of its anomalies. `counted`: the anomalies that add up to its amount, with no line in
    two of them; `shared`: the part that other incidents count."""

    headline: int
    members: tuple[int, ...]
    counted: tuple[int, ...]
    shared: Decimal = ZERO


def incident_groups(views: Iterable[View]) -> list[IncidentGroup]:
    """Return groups that contain every anomaly once. The same anomalies in any order give the same groups."""
    ordered = sorted(views, key=lambda each: each.rank)
    clusters = _service_clusters([each for each in ordered if each.is_service])
    for view in ordered:
        if view.is_service:
            continue
        shares = [_overlap_with(view, cluster) for cluster in clusters]
        total = min(exact_sum(shares), view.size)
        if total and total >= JOIN_SHARE * view.size:
            clusters[shares.index(max(shares))].append(view)
        else:
            clusters.append([view])
    return _to_groups(clusters)


def _service_clusters(services: Sequence[View]) -> list[list[View]]:
    clusters: list[list[View]] = []
    for view in services:
        same = next((each for each in clusters if _has_same_root(view, each[0])), None)
        if same is None:
            clusters.append([view])
        else:
            same.append(view)
    return clusters


def _has_same_root(one: View, other: View) -> bool:
    """Return whether a resource, or an actor, explains most of both anomalies at the same time."""
    return _coincides(one, other) and bool(_roots(one) & _roots(other))


def _roots(view: View) -> set[tuple[str, str]]:
    return {
        (name, value)
        for name in ROOTS
        for value, excess in view.causes.get(name, {}).items()
        if is_named(value) and _size(excess, view) >= ROOT_CAUSE_SHARE * view.size
    }


def is_named(value: str) -> bool:
    """Return whether a cause has a value, unlike `(no resource)` and `(unknown)`."""
    return bool(value) and not value.startswith("(")


def _overlap_with(view: View, cluster: Sequence[View]) -> Decimal:
    """Return the part of an anomaly's impact that a cluster has: services add up, since they share no lines; other
    dimensions do not."""
    services = [each for each in cluster if each.is_service]
    return exact_sum(overlap(view, each) for each in services or cluster[:1])


def _to_groups(clusters: Sequence[Sequence[View]]) -> list[IncidentGroup]:
    """Return the incidents. Services are counted first, since they share no lines; then each anomaly without the cost
    of those before it."""
    by_services = [each for each in clusters if each[0].is_service]
    main = [_main_views(each, [other for other in by_services if other is not each]) for each in clusters]
    before = [views for views in main if views[0].is_service]
    groups = []
    for cluster, counted in zip(clusters, main, strict=True):
        shared = ZERO
        if not counted[0].is_service:
            shared = _shared_impact(counted[0], before)
            before.append(counted)
        members = tuple(each.id for each in cluster)
        groups.append(IncidentGroup(counted[0].id, members, tuple(each.id for each in counted), shared))
    return groups


def _main_views(cluster: Sequence[View], other_groups: Sequence[Sequence[View]]) -> list[View]:
    """Return the counted anomalies, the headline first: the services if they explain the own part of the widest
    anomaly, else the most specific anomaly with nearly the amount of the widest."""
    services = [each for each in cluster if each.is_service]
    views = [each for each in cluster if not each.is_service]
    if not views:
        return services
    own = {each.id: each.size - _shared_impact(each, other_groups) for each in views}
    widest = max(own.values())
    if services and exact_sum(each.size for each in services) >= ROOT_CAUSE_SHARE * widest:
        return services
    most = [each for each in views if own[each.id] >= ROOT_CAUSE_SHARE * widest]
    return [min(most, key=lambda each: (each.dimension in BROAD_DIMENSIONS, each.rank))]


def _shared_impact(view: View, other_groups: Sequence[Sequence[View]]) -> Decimal:
    return min(exact_sum(_overlap_with(view, each) for each in other_groups), view.size)


def _coincides(view: View, other: View) -> bool:
    """Return whether two anomalies have the same source, currency and direction, and share half of the shorter one's
    days."""
    together = (min(view.last, other.last) - max(view.first, other.first)).days + 1
    same = (view.source_id, view.currency, view.impact > 0) == (
        other.source_id,
        other.currency,
        other.impact > 0,
    )
    return same and together * 2 >= min(view.days, other.days)


def overlap(view: View, other: View) -> Decimal:
    """Return the part of an anomaly's impact that another one has; 0 if their days, source, currency or direction
    differ. As measured in the lake; for rows without that measurement, the cause that is the other's scope, else Σ
    min over the finest causes of both. Our rule (docs/adr/0012)."""
    if view.dimension == other.dimension or not _coincides(view, other):
        return ZERO
    most = min(view.size, other.size)
    for this, that in ((view, other), (other, view)):
        for parts in (this.overlaps, this.causes):
            if that.dimension in parts:
                return min(most, _size(parts[that.dimension].get(that.value, ZERO), view))
    finest = next((name for name in COMPARABLE_CAUSES if name in view.causes and name in other.causes), "")
    own_causes, other_causes = view.causes.get(finest, {}), other.causes.get(finest, {})
    common = (
        min(_size(own_causes[value], view), _size(other_causes[value], view))
        for value in own_causes
        if value in other_causes
    )
    return min(most, exact_sum(common))


def _size(excess: Decimal, view: View) -> Decimal:
    """Return the excess in the direction of the anomaly."""
    return max(ZERO, excess if view.impact > 0 else -excess)
