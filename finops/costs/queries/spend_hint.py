"""The hint of an answer about spend: the next question."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from finops.costs.answers import AppliedCostView, SpendRow, SpendTotal
from finops.costs.coverage import Coverage
from finops.costs.queries.spend_words import NAME_LENGTH, NAMED_CURRENCIES
from finops.costs.spend_query import SpendQuery
from finops.lib.sentences import by_currency, dimension_text, truncate

DEEPER = ("usage_type", "resource", "account")
COMMITTED = ("pricing_category", "commitment")


def hint_of(
    query: SpendQuery,
    view: AppliedCostView,
    coverage: Coverage,
    totals: Sequence[SpendTotal],
    rows: Sequence[SpendRow],
) -> str:
    """Return a hint for the next question."""
    if coverage.first_day is None:
        return "Connect a cost source on the Connections page."
    if not totals and query.filters:
        return "Check the values with listDimensionValues, or use a longer period."
    if not totals:
        return f"Use days from {coverage.first_day} to {coverage.last_day}, which have cost."
    if not query.group_by:
        return "Add group_by, such as service, account, region or tag:<key>, for a breakdown."
    if view.basis == "billed" and any(name in row.group for name in COMMITTED for row in rows[:1]):
        return "Billed cost includes commitments on the day they were paid. basis amortized spreads them."
    if query.compare_to == "none":
        return "Add compare_to previous_period to see changes."
    return _drilldown_hint(query, rows)


def _drilldown_hint(query: SpendQuery, rows: Sequence[SpendRow]) -> str:
    changed = [row for row in rows if row.change and row.change.change and not row.other_groups]
    if not changed:
        return "Filter by a row and group by another dimension for detail."
    currencies = list(dict.fromkeys(row.currency for row in changed))[:NAMED_CURRENCIES]
    largest = [
        max((row for row in changed if row.currency == each), key=_size_of_change) for each in currencies
    ]
    dimension = next(iter(largest[0].group))
    other = next(name for name in DEEPER if name not in largest[0].group)
    which = "it" if len(largest) == 1 else "one"
    values = by_currency([(truncate(row.group[dimension], NAME_LENGTH), row.currency) for row in largest])
    return (
        f"{values} changed most: filter {dimension_text(dimension)} by {which} and group by {other} "
        "for the cause."
    )


def _size_of_change(row: SpendRow) -> Decimal:
    return abs(row.change.change) if row.change and row.change.change else Decimal(0)
