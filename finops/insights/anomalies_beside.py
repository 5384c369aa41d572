"""Anomalies beside a change of spend: those whose days the later period has."""

from __future__ import annotations

from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE
from finops.insights.spend_change import beside
from finops.insights.spend_change.answers import Beside
from finops.insights.spend_change.beside import BesideFacts
from finops.lib import spoken


@beside.register("anomalies")
def _anomalies(facts: BesideFacts) -> list[Beside]:
    """The largest of the services, whatever people said of them. One query."""
    rows = Anomaly.objects.filter(
        dimension=SERVICE,
        gone_at=None,
        first_day__lte=facts.days.end,
        last_day__gte=facts.days.start,
    ).select_related("source")
    found = sorted(rows, key=lambda row: -abs(row.impact))[: beside.MOST]
    return [Beside(kind="anomaly", day=row.first_day, what=_said(row)) for row in found]


def _said(row: Anomaly) -> str:
    more = "more" if row.impact > 0 else "less"
    note = f" ({row.state}: {spoken.cut(row.note, 120)})" if row.note else f" ({row.state})"
    return (
        f"{row.label or row.value} of {row.source.name} cost {spoken.money(abs(row.impact), row.currency)} {more} than "
        f"expected from {row.first_day} to {row.last_day}{note}."
    )
