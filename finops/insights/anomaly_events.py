"""Anomalies beside a change of spend: those whose days the later period has, and whose cost its filters hold."""

from __future__ import annotations

from decimal import Decimal

from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE
from finops.insights.queries.scoped_impacts import impacts_in_scope
from finops.insights.spend_change import related_events
from finops.insights.spend_change.answers import RelatedEvent
from finops.insights.spend_change.related_events import RelatedEventFacts
from finops.lib import sentences
from finops.lib.money import ratio

WHOLE = Decimal("0.9")
MAX_COMPARED = 200


@related_events.register("anomalies")
def _anomalies(facts: RelatedEventFacts) -> list[RelatedEvent]:
    """The largest of the services, whatever people said of them. One query; with filters one lake query more."""
    rows = Anomaly.objects.filter(
        dimension=SERVICE,
        gone_at=None,
        first_day__lte=facts.days.end,
        last_day__gte=facts.days.start,
    ).select_related("source")
    anomalies = sorted(rows, key=lambda row: -abs(row.impact))
    if not facts.filters or not anomalies:
        return [_related_event(row) for row in anomalies[: related_events.MOST]]
    impacts = impacts_in_scope(
        facts.account, facts.sources, anomalies[:MAX_COMPARED], facts.filters, deadline=facts.deadline
    )
    return [_related_event(row, impacts[row.pk]) for row in anomalies if row.pk in impacts][
        : related_events.MOST
    ]


def _related_event(row: Anomaly, impact_in_scope: Decimal | None = None) -> RelatedEvent:
    return RelatedEvent(kind="anomaly", day=row.first_day, what=_sentence(row, impact_in_scope))


def _sentence(row: Anomaly, impact_in_scope: Decimal | None) -> str:
    more = "more" if row.impact > 0 else "less"
    note = f" ({row.state}: {sentences.truncate(row.note, 120)})" if row.note else f" ({row.state})"
    part = ""
    if impact_in_scope is not None and (ratio(impact_in_scope, row.impact) or Decimal(0)) < WHOLE:
        part = f"; about {sentences.money(abs(impact_in_scope), row.currency)} of it within the filters"
    return (
        f"{row.label or row.value} of {row.source.name} cost {sentences.money(abs(row.impact), row.currency)} {more} than "
        f"expected from {row.first_day} to {row.last_day}{part}{note}."
    )
