"""Reads about budgets, the same for tools and pages. The account must be in scope."""

from finops.budgets.queries.statuses import BudgetFigures, budget_figures, budget_statuses, budgets_of

__all__ = ["BudgetFigures", "budget_figures", "budget_statuses", "budgets_of"]
