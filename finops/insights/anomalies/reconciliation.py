"""Anomalies in the database after a detection: new rows, longer ones, and ones that a restated bill removed.

A row is matched by scope and days, so that it stays the same row when it grows or is restated. States set by people
are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from accounts.models import Account
from finops.insights.anomalies.detection import AnomalyCandidate, exact, month_end_impact, severity
from finops.insights.anomalies.detector import Detection, Observation
from finops.insights.anomalies.incidents import DETECTOR, RESUMED, has_resumed, regroup, reopen
from finops.insights.anomalies.lake import DailyCost
from finops.insights.models import Anomaly, Incident
from finops.lib import clock
from finops.lib.answers import group_by
from finops.lib.periods import DateRange

NEAR = timedelta(days=1)


@dataclass(frozen=True)
class AnomalyScope:
    """Scope and direction of an anomaly."""

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
    """Return the id: the same for the same scope and first day in every detection."""
    parts = [scope.source_id, scope.dimension, scope.value, scope.currency, scope.up, first]
    return f"anom_{hashlib.blake2s(repr([str(each) for each in parts]).encode(), digest_size=8).hexdigest()}"


def match(rows: Iterable[Anomaly], spans: Sequence[tuple[date, date]]) -> list[Anomaly | None]:
    """Return for each span of days the oldest row that it overlaps or touches, each row once."""
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


STAYS = Decimal("0.5")
"""A stored anomaly is kept while its impact is at least this share of the minimum, so that it does not come and go.
"""

Covers = Callable[[int, date, date], bool]
HasCost = Callable[[Anomaly], bool]
"""Whether any line of an anomaly's scope is in its currency."""


def record(
    account: Account,
    candidates: Sequence[AnomalyCandidate],
    *,
    window: DateRange,
    covered: Covers,
    has_cost: HasCost,
) -> None:
    """Update the account's anomalies and incidents with the candidates of a detection. Call it in a transaction."""
    incidents = {each.pk: each for each in Incident.objects.select_for_update().order_by("pk")}
    rows = list(
        Anomaly.objects.select_for_update()
        .filter(last_day__gte=window.start - timedelta(days=1))
        .order_by("pk")
    )
    for row in rows:
        row.incident = incidents.get(row.incident_id or 0)  # one object of each, as several rows change it
    stored_keys: set[int] = set()
    for candidate, match_row in _with_rows(candidates, rows, has_cost):
        stored = _store(account, AnomalyScope.of_candidate(candidate), candidate, match_row)
        stored_keys |= {stored.pk} if stored is not None else set()
    for row in rows:
        if row.pk not in stored_keys and covered(row.source_id, row.first_day, row.last_day):
            _retract(row)
    regroup(account, window.start)


def _with_rows(
    candidates: Sequence[AnomalyCandidate], rows: Sequence[Anomaly], has_cost: HasCost
) -> list[tuple[AnomalyCandidate, Anomaly | None]]:
    """Return each candidate with its row: a detected row of its scope; else a row of the same days in a currency that
    no line has any more, from a bill that changed its currency or from detector 5, which stored the display currency;
    else a row that is no longer detected."""
    live = [row for row in rows if row.gone_at is None]
    in_other_currency = [row for row in live if not has_cost(row)]
    gone = [row for row in rows if row.gone_at is not None]
    pairs: list[tuple[AnomalyCandidate, Anomaly | None]] = []
    unmatched = list(candidates)
    for among, any_currency in ((live, False), (in_other_currency, True), (gone, False)):
        used = {row.pk for _each, row in pairs if row is not None}
        matches = _match_by_scope(unmatched, [row for row in among if row.pk not in used], any_currency)
        pairs += [pair for pair in matches if pair[1] is not None]
        unmatched = [each for each, row in matches if row is None]
    return [*pairs, *((each, None) for each in unmatched)]


def _match_by_scope(
    candidates: Sequence[AnomalyCandidate], rows: Sequence[Anomaly], any_currency: bool
) -> list[tuple[AnomalyCandidate, Anomaly | None]]:
    def scope_of(scope: AnomalyScope) -> AnomalyScope:
        return replace(scope, currency="") if any_currency else scope

    rows_of = group_by(rows, lambda row: scope_of(AnomalyScope.of(row)))
    pairs: list[tuple[AnomalyCandidate, Anomaly | None]] = []
    for scope, own_candidates in group_by(
        candidates, lambda each: scope_of(AnomalyScope.of_candidate(each))
    ).items():
        own_candidates.sort(key=lambda each: each.detection.first)
        spans = [(each.detection.first, each.detection.last) for each in own_candidates]
        pairs += zip(own_candidates, match(rows_of.get(scope, []), spans), strict=True)
    return pairs


def _store(
    account: Account, scope: AnomalyScope, candidate: AnomalyCandidate, row: Anomaly | None
) -> Anomaly | None:
    """Return the updated row of a candidate; None if its impact is too small to store."""
    if row is not None and row.state == Incident.State.EXPECTED:
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
    if same and row.causes and set(row.overlaps) == set(candidate.explainer.others) and not back:
        return
    for name, value in figures.items():
        setattr(row, name, value)
    explanation = candidate.explainer.explain(key, detection, candidate.expected_cost)
    row.causes, row.overlaps = msgspec.to_builtins(explanation.causes), explanation.overlaps
    if back:
        _reopen(row)
    row.updated_at = clock.now()
    row.save()


def _day_cells(day: Observation, cost: DailyCost) -> list[str]:
    """Return [day, actual, expected, low, high], as text so that amounts stay exact."""
    actual = cost.days.get(day.day, Decimal(0))
    return [str(day.day), *(f"{each:f}" for each in (actual, *map(exact, (day.expected, day.low, day.high))))]


def _has_resumed(row: Anomaly, detection: Detection) -> bool:
    """Return whether the anomaly grew days after a person resolved it."""
    incident = row.incident
    return incident is not None and detection.last > row.last_day and has_resumed(incident, detection.last)


def _reopen(row: Anomaly) -> None:
    """Restore a row that was no longer detected, and reopen one that resumed; reviews are kept."""
    incident = row.incident
    was_gone, row.gone_at = row.gone_at is not None, None
    if incident is None:
        return
    if not was_gone:
        reopen(incident, f"{incident.note}\n{RESUMED}".strip())
    elif incident.marked_by_label == DETECTOR:
        reopen(incident)


def _retract(row: Anomaly) -> None:
    """Mark a row as no longer in the data. Rows marked as expected by a person stay so."""
    if row.state == Incident.State.EXPECTED or row.gone_at is not None:
        return
    row.gone_at = clock.now()
    row.ongoing = False
    row.save()
