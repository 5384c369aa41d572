"""Reads about cost, the same for tools and pages. The account must be in scope."""

from finops.costs.queries.context import account_context, currencies_of
from finops.costs.queries.cost_view import CostViewSettings, cost_view
from finops.costs.queries.sources import source_health
from finops.costs.queries.spend import query_spend
from finops.costs.queries.spend_fold import fit_to_size
from finops.costs.queries.values import MAX_LIMIT as MAX_VALUES_LIMIT
from finops.costs.queries.values import days_from_arguments, list_dimension_values

__all__ = [
    "MAX_VALUES_LIMIT",
    "CostViewSettings",
    "account_context",
    "cost_view",
    "currencies_of",
    "days_from_arguments",
    "fit_to_size",
    "list_dimension_values",
    "query_spend",
    "source_health",
]
