"""Anomalies beside a change of spend: those whose days the later period has, and whose cost its filters hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from finops.costs.dimensions import DimensionContext, registry
from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE
from finops.insights.queries.daily_costs import DailyCost, ScopeKey, daily_costs
from finops.insights.spend_change import beside
from finops.insights.spend_change.answers import Beside
from finops.insights.spend_change.beside import BesideFacts
from finops.lib import spoken
from finops.lib.money import added, ratio
from finops.lib.periods import DateRange

BASELINE = timedelta(days=28)
HELD = Decimal("0.1")
"""An anomaly is the filters' when the cost that they hold moved the same way, by at least this share of its impact."""
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
    moved = _moved_within(facts, found[:MAX_WEIGHED])
    return [_beside(row, moved[row.pk]) for row in found if row.pk in moved][: beside.MOST]


def _moved_within(facts: BesideFacts, rows: Sequence[Anomaly]) -> dict[int, Decimal]:
    """What the cost that the filters hold moved in each anomaly's days against the 28 before, where it took part."""
    days = DateRange(min(row.first_day for row in rows) - BASELINE, max(row.last_day for row in rows))
    service = registry.resolve(DimensionContext(facts.account), SERVICE)
    costs = daily_costs(
        facts.account,
        service,
        days,
        manifest=facts.sources.manifest,
        deadline=facts.deadline,
        filters=facts.filters,
    )
    moved = {
        row.pk: _moved(row, costs.get(ScopeKey(row.source_id, row.value, row.currency), DailyCost()))
        for row in rows
    }
    return {row.pk: moved[row.pk] for row in rows if (ratio(moved[row.pk], row.impact) or Decimal(0)) >= HELD}


def _moved(row: Anomaly, cost: DailyCost) -> Decimal:
    count = (row.last_day - row.first_day).days + 1
    inside = [amount for day, amount in cost.days.items() if row.first_day <= day <= row.last_day]
    earlier = [amount for day, amount in cost.days.items() if row.first_day - BASELINE <= day < row.first_day]
    return added(inside) - added(earlier) * count / BASELINE.days


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
