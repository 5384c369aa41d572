"""Reads about budgets, the same for tools and pages. The account must be in scope."""

from finops.budgets.queries.budget_list import list_budgets, new_budget_answer
from finops.budgets.queries.forecasts import ForecastFigures, forecast_figures, forecast_spend
from finops.budgets.queries.statuses import BudgetFigures, budget_figures, budget_statuses, budgets_of
from finops.budgets.queries.suggestions import BudgetSuggestion, suggestion

__all__ = [
    "BudgetFigures",
    "BudgetSuggestion",
    "ForecastFigures",
    "budget_figures",
    "budget_statuses",
    "budgets_of",
    "forecast_figures",
    "forecast_spend",
    "list_budgets",
    "new_budget_answer",
    "suggestion",
]
