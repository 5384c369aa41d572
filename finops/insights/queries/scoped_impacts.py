"""How much of an anomaly is of the cost that filters hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from accounts.models import Account
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.filters import ResolvedFilter
from finops.costs.queries.sources import Sources
from finops.insights.models import Anomaly
from finops.insights.queries.daily_costs import DailyCost, ScopeKey, daily_costs
from finops.lib.errors import UserError
from finops.lib.money import exact_sum, ratio
from finops.lib.periods import DateRange

BASELINE = timedelta(days=28)
MIN_SHARE = Decimal("0.1")
"""An anomaly is the filters' when the cost that they hold moved the same way, by at least this share of its impact."""


def impacts_in_scope(
    account: Account,
    sources: Sources,
    rows: Sequence[Anomaly],
    filters: tuple[ResolvedFilter, ...],
    *,
    deadline: float | None,
) -> dict[int, Decimal]:
    """What the cost that the filters hold moved in each anomaly's days against the 28 before, by the anomaly's pk; those
    in which it took no part are left out. One lake query for each dimension that the rows are of."""
    by_dimension: dict[str, list[Anomaly]] = defaultdict(list)
    for row in rows:
        by_dimension[row.dimension].append(row)
    impacts: dict[int, Decimal] = {}
    for name, ours in by_dimension.items():
        costs = _costs(account, sources, name, ours, filters, deadline)
        for row in ours:
            key = ScopeKey(row.source_id, row.value, row.currency)
            impacts[row.pk] = _impact_in_scope(row, costs.get(key, DailyCost()), sources.coverage.first_day)
    return {
        row.pk: impacts[row.pk]
        for row in rows
        if (ratio(impacts[row.pk], row.impact) or Decimal(0)) >= MIN_SHARE
    }


def _costs(
    account: Account,
    sources: Sources,
    name: str,
    rows: Sequence[Anomaly],
    filters: tuple[ResolvedFilter, ...],
    deadline: float | None,
) -> dict[ScopeKey, DailyCost]:
    context = DimensionContext(account, sources.view.product_key, sources.names, sources.manifest)
    try:
        dimension = registry.resolve(context, name)
    except UserError:
        return {}  # a cost tag that was deleted since
    days = DateRange(min(row.first_day for row in rows) - BASELINE, max(row.last_day for row in rows))
    return daily_costs(
        account, dimension, days, manifest=sources.manifest, deadline=deadline, filters=filters
    )


def _impact_in_scope(row: Anomaly, cost: DailyCost, data_from: date | None) -> Decimal:
    count = (row.last_day - row.first_day).days + 1
    start = max(row.first_day - BASELINE, data_from or date.min)
    inside = [amount for day, amount in cost.days.items() if row.first_day <= day <= row.last_day]
    earlier = [amount for day, amount in cost.days.items() if start <= day < row.first_day]
    return exact_sum(inside) - exact_sum(earlier) * count / max((row.first_day - start).days, 1)
