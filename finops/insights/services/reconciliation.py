"""Keeping what a look found: new rows, grown ones, ones that a restated bill took away. States stay people's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from accounts.models import Account
from finops.insights.anomalies.causes import Causes
from finops.insights.anomalies.incidents import IncidentRole, View, incidents
from finops.insights.anomalies.series import Detection, Observation
from finops.insights.anomalies.severity import exact, month_end_impact, severity
from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE
from finops.insights.queries.daily_costs import DailyCost, ScopeKey
from finops.insights.services.explainer import Explainer
from finops.insights.services.identity import Scope, key_of, match
from finops.lib import clock
from finops.lib.money import exact_difference, exact_sum
from finops.lib.periods import DateRange

DETECTOR = "the detector"
GONE = "No longer found: the bill was restated, or the settings were changed."
OLD = "Ended more than 90 days ago."
STAYS = Decimal("0.5")
"""A known anomaly stays while its impact is at least this share of the smallest one, so that it does not flicker."""

REOPENED_AFTER = timedelta(days=2)
"""One that goes on so long after somebody resolved it is open again."""

Covers = Callable[[int, date, date], bool]


@dataclass(frozen=True)
class Candidate:
    """A finding with its exact money, the smallest impact of its scope, and what severity is measured by."""

    key: ScopeKey
    explainer: Explainer
    cost: DailyCost
    detection: Detection
    around: list[Observation]
    minimum: Decimal
    scale: Decimal

    @property
    def actual(self) -> Decimal:
        return exact_sum(self.cost.days.get(day.day, Decimal(0)) for day in self.detection.days)

    @property
    def expected(self) -> Decimal:
        return exact_sum(exact(day.expected) for day in self.detection.days)

    @property
    def impact(self) -> Decimal:
        return exact_difference(self.actual, self.expected)

    @property
    def scope(self) -> Scope:
        key = self.key
        return Scope(key.source_id, self.explainer.name, key.value, key.currency, self.detection.is_up)


def record(account: Account, candidates: Sequence[Candidate], *, window: DateRange, covered: Covers) -> None:
    """Bring the account's anomalies up to date with what was found. Call it in a transaction."""
    rows = list(
        Anomaly.objects.select_for_update()
        .filter(last_day__gte=window.start - timedelta(days=1))
        .order_by("pk")
    )
    matched_ids: set[int] = set()
    by_scope: dict[Scope, list[Candidate]] = {}
    for candidate in candidates:
        by_scope.setdefault(candidate.scope, []).append(candidate)
    for scope, of_scope in by_scope.items():
        scope_rows = [row for row in rows if Scope.of(row) == scope]
        of_scope.sort(key=lambda each: each.detection.first)
        spans = [(each.detection.first, each.detection.last) for each in of_scope]
        for candidate, row in zip(of_scope, match(scope_rows, spans), strict=True):
            _store(account, scope, candidate, row, matched_ids)
    for row in rows:
        if row.pk not in matched_ids and covered(row.source_id, row.first_day, row.last_day):
            _retract(row)
    _close_old(window)
    group(window)


def _store(
    account: Account, scope: Scope, candidate: Candidate, row: Anomaly | None, matched_ids: set[int]
) -> None:
    size = candidate.impact.copy_abs()
    if row is None:
        if size >= candidate.minimum and size > 0:
            row = Anomaly(account=account, key=key_of(scope, candidate.detection.first))
            # The same day of the same scope was known, and went out of sight: its id stays with it.
            row = Anomaly.objects.filter(key=row.key).first() or row
            _fill(row, candidate)
            matched_ids.add(row.pk)
        return
    if row.state == Anomaly.State.EXPECTED:
        matched_ids.add(row.pk)
        return
    if size >= candidate.minimum * STAYS and size > 0:
        matched_ids.add(row.pk)
        _fill(row, candidate)


def _fill(row: Anomaly, candidate: Candidate) -> None:
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
        "expected": candidate.expected,
        "impact": candidate.impact,
        "month_end_impact": month_end_impact(detection, candidate.impact),
        "severity": severity(candidate.impact, candidate.scale),
        "days": [_day(day, candidate.cost) for day in candidate.around],
    }
    back = row.gone_at is not None or _has_resumed(row, detection)
    same = not row._state.adding and all(getattr(row, name) == value for name, value in figures.items())
    if same and row.causes and not back:
        return
    for name, value in figures.items():
        setattr(row, name, value)
    row.causes = msgspec.to_builtins(candidate.explainer.causes(key, detection, candidate.expected))
    if back:
        _reopen(row)
    row.updated_at = clock.now()
    row.save()


def _day(day: Observation, cost: DailyCost) -> list[str]:
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
        row.note = f"{row.note}\nOpen again: it went on after it was resolved.".strip()
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
        state=Anomaly.State.RESOLVED,
        note=OLD,
        ongoing=False,
        marked_by_label=DETECTOR,
        marked_at=clock.now(),
    )


def group(window: DateRange) -> None:
    """Bring together what is one incident. What is new in one takes its state; what goes on opens all of it again."""
    rows = list(Anomaly.objects.filter(last_day__gte=window.start, gone_at=None).order_by("pk"))
    places = incidents(_view(row) for row in rows)
    previous_primaries = {row.pk: row.primary_id for row in rows}
    changed = [row for row in rows if (row.primary_id, row.shared_impact) != _role_values(places[row.pk])]
    for row in changed:
        row.primary_id, row.shared_impact = _role_values(places[row.pk])
    by_incident: dict[int, list[Anomaly]] = {}
    for row in rows:
        by_incident.setdefault(row.incident, []).append(row)
    for views in by_incident.values():
        changed += _align_states(views, previous_primaries)
    for row in {row.pk: row for row in changed}.values():
        row.updated_at = clock.now()
        row.save()


def _role_values(place: IncidentRole) -> tuple[int | None, Decimal]:
    return place.primary, place.shared


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
