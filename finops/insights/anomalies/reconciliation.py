"""Anomalies in the database after a detection run: new rows, grown ones, ones that a restated bill took away.

A row is found again by scope and days, so that one that grows, or is restated, stays the same. States stay people's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from accounts.models import Account
from finops.insights.anomalies.causes import Causes
from finops.insights.anomalies.detection import AnomalyCandidate, exact, month_end_impact, severity
from finops.insights.anomalies.detector import Detection, Observation
from finops.insights.anomalies.lake import DailyCost
from finops.insights.models import SERVICE, Anomaly
from finops.lib import clock
from finops.lib.answers import group_by
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange

NEAR = timedelta(days=1)


@dataclass(frozen=True)
class AnomalyScope:
    """Where an anomaly is, and which way it goes."""

    source_id: int
    dimension: str
    value: str
    currency: str
    up: bool

    @classmethod
    def of(cls, row: Anomaly) -> AnomalyScope:
        return cls(row.source_id, row.dimension, row.value, row.currency, row.impact >= 0)

    @classmethod
    def of_candidate(cls, each: AnomalyCandidate) -> AnomalyScope:
        key = each.key
        return cls(key.source_id, each.explainer.name, key.value, key.currency, each.detection.is_up)


def key_of(scope: AnomalyScope, first: date) -> str:
    """The id: the same for the same scope and day, whenever and wherever it is found first."""
    parts = [scope.source_id, scope.dimension, scope.value, scope.currency, scope.up, first]
    return f"anom_{hashlib.blake2s(repr([str(each) for each in parts]).encode(), digest_size=8).hexdigest()}"


def match(rows: Iterable[Anomaly], spans: Sequence[tuple[date, date]]) -> list[Anomaly | None]:
    """For each span of days the oldest row that it overlaps or touches, each row once."""
    free = sorted(rows, key=lambda row: (row.first_day, row.pk))
    matches: list[Anomaly | None] = []
    for first, last in spans:
        same = next(
            (row for row in free if row.first_day <= last + NEAR and row.last_day >= first - NEAR), None
        )
        matches.append(same)
        if same is not None:
            free.remove(same)
    return matches


DETECTOR = "the detector"
GONE = "No longer detected: the bill was restated or the settings were changed."
OLD = "Ended more than 90 days ago."
STAYS = Decimal("0.5")
"""A known anomaly stays while its impact is at least this share of the smallest one, so that it does not flicker."""

REOPENED_AFTER = timedelta(days=2)
"""One that goes on so long after somebody resolved it is open again."""

MOSTLY = Decimal("0.5")
"""One of whose impact others hold so large a part is a view of them."""

COMPARED = ("resource", "actor", "usage_type", "service")
"""Causes, the finest first, that tell the money of two dimensions apart where neither knows the other."""

ZERO = Decimal(0)

Covers = Callable[[int, date, date], bool]


def record(
    account: Account, candidates: Sequence[AnomalyCandidate], *, window: DateRange, covered: Covers
) -> None:
    """Bring the account's anomalies up to date with what was found. Call it in a transaction."""
    rows = list(
        Anomaly.objects.select_for_update()
        .filter(last_day__gte=window.start - timedelta(days=1))
        .order_by("pk")
    )
    kept: set[int] = set()
    for scope, of_scope in group_by(candidates, AnomalyScope.of_candidate).items():
        of_scope.sort(key=lambda each: each.detection.first)
        spans = [(each.detection.first, each.detection.last) for each in of_scope]
        matches = match([row for row in rows if AnomalyScope.of(row) == scope], spans)
        for candidate, match_row in zip(of_scope, matches, strict=True):
            row = _store(account, scope, candidate, match_row)
            kept |= {row.pk} if row else set()
    for row in rows:
        if row.pk not in kept and covered(row.source_id, row.first_day, row.last_day):
            _retract(row)
    _close_old(window)
    group(window)


def _store(
    account: Account, scope: AnomalyScope, candidate: AnomalyCandidate, row: Anomaly | None
) -> Anomaly | None:
    """The row of a candidate, up to date; None where its impact is too small to keep."""
    if row is not None and row.state == Anomaly.State.EXPECTED:
        return row
    size = candidate.impact.copy_abs()
    if not size or size < (candidate.minimum if row is None else candidate.minimum * STAYS):
        return None
    if row is None:
        # The same day of the same scope may have been known, and gone out of sight: its id stays with it.
        key = key_of(scope, candidate.detection.first)
        row = Anomaly.objects.filter(key=key).first() or Anomaly(account=account, key=key)
    _fill(row, candidate)
    return row


def _fill(row: Anomaly, candidate: AnomalyCandidate) -> None:
    detection, key = candidate.detection, candidate.key
    figures: dict[str, Any] = {
        "source_id": key.source_id,
        "dimension": candidate.explainer.name,
        "value": key.value,
        "label": candidate.cost.label if candidate.cost.label != key.value else "",
        "currency": key.currency,
        "kind": detection.kind,
        "first_day": detection.first,
        "last_day": detection.last,
        "ongoing": detection.ongoing,
        "actual": candidate.actual,
        "expected": candidate.expected_cost,
        "impact": candidate.impact,
        "month_end_impact": month_end_impact(detection, candidate.impact),
        "severity": severity(candidate.impact, candidate.scale),
        "days": [_day_cells(day, candidate.cost) for day in candidate.around],
    }
    back = row.gone_at is not None or _has_resumed(row, detection)
    same = not row._state.adding and all(getattr(row, name) == value for name, value in figures.items())
    if same and row.causes and not back:
        return
    for name, value in figures.items():
        setattr(row, name, value)
    row.causes = msgspec.to_builtins(candidate.explainer.causes(key, detection, candidate.expected_cost))
    if back:
        _reopen(row)
    row.updated_at = clock.now()
    row.save()


def _day_cells(day: Observation, cost: DailyCost) -> list[str]:
    """[day, actual, expected, low, high], as text so that amounts stay exact."""
    actual = cost.days.get(day.day, Decimal(0))
    return [str(day.day), *(f"{each:f}" for each in (actual, *map(exact, (day.expected, day.low, day.high))))]


def _has_resumed(row: Anomaly, detection: Detection) -> bool:
    marked = row.marked_at
    return bool(
        row.state == Anomaly.State.RESOLVED
        and marked
        and detection.last > marked.date() + REOPENED_AFTER
        and detection.last > row.last_day
    )


def _reopen(row: Anomaly) -> None:
    if row.gone_at is None:
        row.note = f"{row.note}\nReopened: it continued after it was resolved.".strip()
    elif row.marked_by_label != DETECTOR:
        row.gone_at = None
        return
    else:
        row.note = ""
    row.state, row.gone_at = Anomaly.State.OPEN, None
    row.marked_at, row.marked_by, row.marked_by_label = None, None, ""


def _retract(row: Anomaly) -> None:
    """It is in the data no more. What a person called expected is so on purpose."""
    if row.state == Anomaly.State.EXPECTED or row.gone_at is not None:
        return
    row.gone_at = clock.now()
    if row.state == Anomaly.State.OPEN:
        row.state, row.note = Anomaly.State.RESOLVED, GONE
        row.marked_by_label, row.marked_at = DETECTOR, row.gone_at
    row.ongoing = False
    row.save()


def _close_old(window: DateRange) -> None:
    """What ended before the days that are judged is closed, when nobody did."""
    old = Anomaly.objects.filter(state=Anomaly.State.OPEN, last_day__lt=window.start)
    old.update(
        state=Anomaly.State.RESOLVED, note=OLD, ongoing=False, marked_by_label=DETECTOR, marked_at=clock.now()
    )


def group(window: DateRange) -> None:
    """Bring together what is one incident. What is new in one takes its state; what goes on opens all of it again."""
    rows = list(Anomaly.objects.filter(last_day__gte=window.start, gone_at=None).order_by("pk"))
    places = incidents(_view(row) for row in rows)
    previous_primaries = {row.pk: row.primary_id for row in rows}
    changed = [row for row in rows if (row.primary_id, row.shared_impact) != places[row.pk]]
    for row in changed:
        row.primary_id, row.shared_impact = places[row.pk]
    for views in group_by(rows, lambda row: row.incident).values():
        changed += _align_states(views, previous_primaries)
    for row in {row.pk: row for row in changed}.values():
        row.updated_at = clock.now()
        row.save()


def _view(row: Anomaly) -> View:
    causes = msgspec.convert(row.causes, list[Causes])
    return View(
        id=row.pk,
        source_id=row.source_id,
        currency=row.currency,
        dimension=row.dimension,
        value=row.value,
        is_service=row.dimension == SERVICE,
        first=row.first_day,
        last=row.last_day,
        impact=row.impact,
        causes={each.dimension: {cause.value: cause.excess for cause in each.rows} for each in causes},
    )


def _align_states(views: Sequence[Anomaly], previous_primaries: Mapping[int, int | None]) -> list[Anomaly]:
    """Those whose state is not their incident's: what a person called expected is so of all, else one that was open in it
    before keeps it open, else it is the primary's."""
    if len({row.state for row in views}) == 1:
        return []
    primary = next((row for row in views if row.primary_id is None), views[0])
    expected = [row for row in views if row.state == Anomaly.State.EXPECTED]
    open_again = [
        row
        for row in views
        if row.state == Anomaly.State.OPEN and (row is primary or previous_primaries[row.pk] == primary.pk)
    ]
    leading = [*expected, *open_again, primary][0]
    others = [row for row in views if row.state != leading.state]
    for row in others:
        row.state, row.note = leading.state, leading.note
        row.marked_at, row.marked_by_id = leading.marked_at, leading.marked_by_id
        row.marked_by_label = leading.marked_by_label
    return others


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


class IncidentRole(NamedTuple):
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
    """How much of a view's impact is the other's; 0 where their days, source, currency or direction are not
    the same. The cause that is the other's scope, else Σ min over the finest causes of both; our rule
    (docs/adr/0025)."""
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
