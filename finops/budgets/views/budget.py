"""The page of a budget: the burn-up of its period, the forecast, its cost drivers, and earlier periods."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.budgets.charts import bar_of, budget_charts
from finops.budgets.models import Budget
from finops.budgets.queries import budget_figures
from finops.budgets.queries.actual_costs import currencies_of_budgets
from finops.budgets.schemas import BudgetStatus
from finops.budgets.scopes import filters_of, visible_budgets
from finops.costs.dependants import deletion_impact_text
from finops.costs.models import Basis
from finops.costs.queries import query_spend
from finops.costs.queries.cost_view import apply_overrides
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import SpendQuery
from finops.lake.engine.conversion import currency_scope
from finops.lib import clock
from finops.lib.errors import UserError

TOP_SERVICES = 8


def budget_of(budget_id: int) -> Budget:
    """Return the budget of the account in scope, with its scope's row and amounts; 404 for another account's."""
    rows = Budget.objects.select_related("account", "cost_source", "team", "cost_tag", "created_by")
    budget = get_object_or_404(rows.prefetch_related("amounts"), pk=budget_id)
    if not visible_budgets([budget]):
        raise Http404("no such budget")
    return budget


@account_page()
@require_safe
def page(request: AccountRequest, budget_id: int) -> HttpResponse:
    budget = budget_of(budget_id)
    context: dict[str, Any] = {"budget": budget, "going_with_it": partial(deletion_impact_text, budget)}
    try:
        sources = load_sources(request.account).for_planning
        (figures,) = budget_figures(request.account, [budget], sources=sources, with_past=True)
        status = figures.status
        context |= {
            "status": status,
            "bar": bar_of(status),
            "charts": budget_charts(budget, figures, clock.today()),
            "left": status.amount - status.spent if status.spent is not None else None,
            "view": apply_overrides(sources.view, basis=None, charge_categories=()),
        }
        context |= _drivers(request, budget, status, sources)
    except UserError as problem:
        context["error"] = problem.message
    return render(request, "budgets/budget.html", context)


def _drivers(
    request: AccountRequest, budget: Budget, status: BudgetStatus, sources: Sources
) -> dict[str, Any]:
    """Return the services with the period's cost, compared with the same number of days in the period before."""
    query = SpendQuery(
        start_date=status.start_date,
        end_date=min(clock.today(), status.end_date),
        group_by=["service"],
        filters=filters_of(budget),
        basis="amortized" if sources.view.basis == Basis.AMORTIZED else "billed",
        compare_to="previous_period",
        limit=TOP_SERVICES,
    )
    # In the budget's own currency, whichever the reader has chosen.
    with currency_scope(currencies_of_budgets(request.account)(status.currency)):
        spend = query_spend(request.account, query, sources=sources)
    rows = [row for row in spend.rows if row.currency == status.currency]
    return {"drivers": rows, "explorer": {**query.to_params(), "granularity": ["day"]}, "spend": spend}
