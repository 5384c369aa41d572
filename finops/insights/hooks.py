"""Hooks of insights: warnings for answers about cost, and related events of a change of spend."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from finops.change_events.models import EventSource
from finops.change_events.source_panels import EventSourcePanel, event_source_panels
from finops.connections.optional_checks import optional_checks
from finops.costs.answer_warnings import AnswerFacts, answer_warnings
from finops.costs.queries.sources import FAILING, STALE, load_sources
from finops.costs.queries.spend_facts import spend_notes
from finops.costs.resource_panels import ResourcePanel, ResourceQuestion, resource_panels
from finops.insights.actor_coverage import DAYS, actor_coverage
from finops.insights.anomalies.lake import impacts_in_scope
from finops.insights.cost_scope import CostReader
from finops.insights.models import SERVICE, Anomaly
from finops.insights.other_spellings import other_spellings
from finops.insights.savings.recommendation_apis import check_recommendations
from finops.insights.spend_change.queries import (
    MOST,
    RelatedEventFacts,
    find_related_events,
    related_events,
)
from finops.insights.spend_change.schemas import RelatedEvent
from finops.lib import sentences
from finops.lib.cost_access import current_limit
from finops.lib.money import ratio
from finops.lib.periods import previous_period

RECENT_DAYS = 62
"""A source without new data for more days than this before the queried days is not reported."""

WHOLE = Decimal("0.9")
MAX_COMPARED = 200

spend_notes.add("other_spellings", other_spellings)
optional_checks.add("recommendations", check_recommendations)


@answer_warnings.register("unhealthy_connections")
def unhealthy_connections(facts: AnswerFacts) -> list[str]:
    """Return warnings about failing sources, except those whose syncs `source_notes` names, and about stale ones if
    the queried days reach beyond their data."""
    warnings = []
    with_problem = {problem.source_id for problem in facts.sources.problems}
    for source_id, source in facts.sources.health.items():
        if source.status == FAILING and source_id not in with_problem:
            warnings.append(f"Source {source.name!r} is failing: {source.reason}")
        elif source.status == STALE and source.last_day is not None:
            recent = facts.days.start - timedelta(days=RECENT_DAYS)
            if recent <= source.last_day < facts.days.end:
                warnings.append(f"Source {source.name!r} is stale: {source.reason}")
    return warnings


@resource_panels.register("events")
def resource_events(request: ResourceQuestion) -> ResourcePanel:
    """Return anomalies and new sources on the days that belong to the resource's cost."""
    question = request.question
    reader = CostReader(request.account, request.sources)
    facts = RelatedEventFacts(reader, question.days, previous_period(question.days), question.filters)
    return ResourcePanel("insights/_resource_events.html", {"events": find_related_events(facts)})


@event_source_panels.register("actor coverage")
def actor_coverage_panel(source: EventSource) -> EventSourcePanel | None:
    """How much cost has an actor by events, where this source's name resources."""
    if not source.events.filter(scope__has_key="resource").exists():
        return None
    rows = actor_coverage(CostReader(source.account, load_sources(source.account)))
    context = {"rows": rows, "days": DAYS}
    return EventSourcePanel("insights/_actor_coverage.html", context) if rows else None


@related_events.register("anomalies")
def anomaly_events(facts: RelatedEventFacts) -> list[RelatedEvent]:
    """Return anomalies on the later days whose cost matches the filters: the largest of the services, in any state.
    They are stored for the whole account, so a reader with limited cost access gets none.

    One query; with filters one more lake query.
    """
    if current_limit() is not None:
        return []
    rows = Anomaly.objects.filter(
        dimension=SERVICE,
        gone_at=None,
        first_day__lte=facts.days.end,
        last_day__gte=facts.days.start,
    ).select_related("source", "incident")
    anomalies = sorted(rows, key=lambda row: -abs(row.impact))
    if not facts.filters or not anomalies:
        return [_related_event(row) for row in anomalies[:MOST]]
    impacts = impacts_in_scope(facts.reader, anomalies[:MAX_COMPARED], facts.filters)
    return [_related_event(row, impacts[row.pk]) for row in anomalies if row.pk in impacts][:MOST]


def _related_event(row: Anomaly, impact_in_scope: Decimal | None = None) -> RelatedEvent:
    more = "more" if row.impact > 0 else "less"
    text = row.incident.note if row.incident is not None else ""
    note = f" ({row.state}: {sentences.truncate(text, 120)})" if text else f" ({row.state})"
    part = ""
    if impact_in_scope is not None and (ratio(impact_in_scope, row.impact) or Decimal(0)) < WHOLE:
        part = f"; about {sentences.money(abs(impact_in_scope), row.currency)} of it within the filters"
    text = (
        f"{row.label or row.value} of {row.source.name} cost {sentences.money(abs(row.impact), row.currency)} {more} than "
        f"expected from {row.first_day} to {row.last_day}{part}{note}."
    )
    return RelatedEvent(kind="anomaly", day=row.first_day, what=text)
