"""Anomalies beside a change of spend: those whose days the later period has, and whose cost its filters hold."""

from __future__ import annotations

from decimal import Decimal

from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE
from finops.insights.queries.anomalies_within import impacts_within
from finops.insights.spend_change import beside
from finops.insights.spend_change.answers import Beside
from finops.insights.spend_change.beside import BesideFacts
from finops.lib import spoken
from finops.lib.money import ratio

WHOLE = Decimal("0.9")
MAX_WEIGHED = 200


@beside.register("anomalies")
def _anomalies(facts: BesideFacts) -> list[Beside]:
    """The largest of the services, whatever people said of them. One query; with filters one lake query more."""
    rows = Anomaly.objects.filter(
        dimension=SERVICE,
        gone_at=None,
        first_day__lte=facts.days.end,
        last_day__gte=facts.days.start,
    ).select_related("source")
    found = sorted(rows, key=lambda row: -abs(row.impact))
    if not facts.filters or not found:
        return [_beside(row) for row in found[: beside.MOST]]
    moved = impacts_within(
        facts.account, facts.sources, found[:MAX_WEIGHED], facts.filters, deadline=facts.deadline
    )
    return [_beside(row, moved[row.pk]) for row in found if row.pk in moved][: beside.MOST]


def _beside(row: Anomaly, held: Decimal | None = None) -> Beside:
    return Beside(kind="anomaly", day=row.first_day, what=_sentence(row, held))


def _sentence(row: Anomaly, held: Decimal | None) -> str:
    more = "more" if row.impact > 0 else "less"
    note = f" ({row.state}: {spoken.cut(row.note, 120)})" if row.note else f" ({row.state})"
    part = ""
    if held is not None and (ratio(held, row.impact) or Decimal(0)) < WHOLE:
        part = f"; about {spoken.money(abs(held), row.currency)} of it within the filters"
    return (
        f"{row.label or row.value} of {row.source.name} cost {spoken.money(abs(row.impact), row.currency)} {more} than "
        f"expected from {row.first_day} to {row.last_day}{part}{note}."
    )
