"""Change events near an anomaly, ranked by its stored root causes. No query of the lake."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Final

from finops.change_events.models import ChangeEvent
from finops.change_events.queries import events_between, events_that_fit
from finops.change_events.ranking import ScopeCost, best_candidates, time_share
from finops.change_events.schemas import ChangeCandidate
from finops.change_events.scopes import Scope, ScopeFilter, scope_filters_of
from finops.costs.aliases import candidates
from finops.costs.spend_query import CostFilter
from finops.insights.anomalies.causes import AnomalyCause, Causes
from finops.insights.anomalies.rows import counted_members, incident_causes
from finops.insights.models import Anomaly, Incident
from finops.lib.cost_access import sees_whole_account
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange

DAYS_BEFORE: Final = 7
"""Days before the anomaly's first day in which an event counts."""
MAX_READ: Final = 5_000
"""Maximum number of events near the listed anomalies that are evaluated, newest first."""
NOT_ALL_EVENTS: Final = f"More than {MAX_READ:,} change events are near these anomalies: candidates are from the newest {MAX_READ:,}."
EVERYTHING: Final = Decimal("0.05")
UNKNOWN: Final = Decimal("0.5")
"""Fit of a scope without dimensions, and factor for each dimension without stored causes."""


def incident_candidates(
    incidents: Sequence[Incident], filters: Sequence[CostFilter] = ()
) -> tuple[dict[int, list[ChangeCandidate]], str]:
    """Return ranked events by primary key of the incident, and a sentence if there are more events than are evaluated;
    load incidents with `with_members`. Only events that fit the filters. One query."""
    if not incidents or not sees_whole_account():
        return {}, ""
    near = reduce(or_, (events_between(days.start, days.end) for days in _days_near(incidents)))
    events = events_that_fit(near, scope_filters_of(filters), MAX_READ + 1)
    candidates = {each.pk: _candidates(each, events[:MAX_READ]) for each in incidents}
    return candidates, NOT_ALL_EVENTS if len(events) > MAX_READ else ""


def _days_near(incidents: Sequence[Incident]) -> list[DateRange]:
    """Return the days in which events count, without overlaps."""
    merged: list[DateRange] = []
    for first, last in sorted((each.first_day, each.last_day) for each in incidents):
        start = first - timedelta(days=DAYS_BEFORE)
        if merged and start <= merged[-1].end:
            merged[-1] = DateRange(merged[-1].start, max(merged[-1].end, last))
        else:
            merged.append(DateRange(start, last))
    return merged


def _candidates(incident: Incident, events: Sequence[ChangeEvent]) -> list[ChangeCandidate]:
    days = DateRange(incident.first_day, incident.last_day)
    before = DateRange(
        incident.first_day - timedelta(days=DAYS_BEFORE), incident.first_day - timedelta(days=1)
    )
    members = counted_members(incident)
    causes = incident_causes(members)
    scores = []
    for event in events:
        part = time_share(event.occurred_at.astimezone(UTC).date(), days, before)
        if part:
            scores.append((event, part * scope_fit(event.scope, members, causes)))
    return best_candidates(scores)


def scope_fit(scope: Scope, members: Sequence[Anomaly], causes: Sequence[Causes]) -> Decimal:
    """Return share x movement by the stored causes. Of several dimensions the one with the smallest share of the
    impact counts, times one half for each dimension without stored causes."""
    if not scope:
        return EVERYTHING
    fits = [
        fit
        for name, values in scope.items()
        if (fit := _dimension_fit(name, values, members, causes)) is not None
    ]
    unknown = UNKNOWN ** (len(scope) - len(fits))
    return min(fits) * unknown if fits else EVERYTHING * unknown


def _dimension_fit(
    name: str, values: Sequence[str], members: Sequence[Anomaly], causes: Sequence[Causes]
) -> Decimal | None:
    """Return the fit of one dimension; None if no causes of it are stored."""
    impact = exact_sum(each.impact for each in members)
    scope_filter = ScopeFilter(
        name, "in", tuple(text.casefold() for value in values for text in candidates(name, value))
    )
    own = [each for each in members if each.dimension == name or name == "source"]
    if own:
        matching_figures = [each for each in own if scope_filter.passes({name: _names_of(each, name)})]
        return _fit(
            exact_sum(each.actual for each in matching_figures),
            exact_sum(each.expected for each in matching_figures),
            impact,
        )
    of_dimension = next((each for each in causes if each.dimension == name), None)
    if of_dimension is None:
        return None
    rows = [row for row in of_dimension.rows if scope_filter.passes({name: _names(row)})]
    return _fit(exact_sum(row.actual for row in rows), exact_sum(row.expected for row in rows), impact)


def _fit(actual: Decimal, expected: Decimal, impact: Decimal) -> Decimal:
    return ScopeCost(actual, expected, impact).fit


def _names_of(anomaly: Anomaly, name: str) -> list[str]:
    own = [anomaly.source.name] if name == "source" else [anomaly.value, anomaly.label]
    return [text for text in own if text]


def _names(row: AnomalyCause) -> list[str]:
    return [text for text in (row.value, row.label) if text]
