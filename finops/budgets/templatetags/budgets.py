"""Template filters and tags for budgets."""

from __future__ import annotations

from decimal import Decimal

from django import template
from msgspec import structs

from finops.budgets.forecast_answers import ForecastRow
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.schemas import BudgetStatus
from finops.costs import explorer_steps
from finops.costs.spend_query import CostFilter
from finops.costs.templatetags.costs import as_query
from finops.lib.formats import numbers

register = template.Library()


@register.filter
def percent_of_100(percent: Decimal | None) -> str:
    """Format a percentage: 91.234 → `91.2%`."""
    return "—" if percent is None else numbers.percent(percent.scaleb(-2))


@register.filter
def bar_words(status: BudgetStatus) -> str:
    """Describe a budget's progress bar to a screen reader."""
    spent = percent_of_100(status.spent_percent) if status.spent_percent is not None else "share unknown"
    forecast = (
        f", forecast {percent_of_100(status.forecast_percent)}" if status.forecast_percent is not None else ""
    )
    return f"Spent {spent} of the budget{forecast}"


@register.filter
def size(amount: Decimal | None) -> Decimal | None:
    """The absolute value."""
    return None if amount is None else amount.copy_abs()


@register.filter
def finer_forecast(query: ForecastQuery, row: ForecastRow) -> str:
    """The query string of the forecast filtered to a row's group and grouped by a finer dimension."""
    filters = explorer_steps.narrow(query.filters, row.group)
    groups = explorer_steps.finer_groups(filters, row.group)
    of_cost = [CostFilter(dimension=item.dimension, op=item.op, values=item.values) for item in filters]
    return as_query(structs.replace(query, filters=of_cost, group_by=groups).to_params())
