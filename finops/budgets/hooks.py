"""Registrations of budgets with lower apps: a team's panel, budgets that use a cost tag, an onboarding step."""

from __future__ import annotations

from datetime import date, timedelta

from django.db.models import Exists, Q

from accounts.first_steps import FirstStep, first_steps
from accounts.models import Account, Role
from finops.allocation.cost_tags.uses import dimension_uses
from finops.allocation.models import Team
from finops.allocation.team_panels import TeamPanel, team_panels
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses
from finops.budgets.queries.forecasts import forecast_spend
from finops.budgets.scopes import visible_budgets
from finops.costs.spend_forecasts import ForecastQuestion, SpendForecast, spend_forecasts
from finops.costs.spend_query import CostFilter
from finops.lib.errors import UserError

TEMPLATE = "budgets/_team_panel.html"
MONTH_END = "budgets/_month_end.html"


@team_panels.register("budgets")
def team_budgets(account: Account, team: Team) -> TeamPanel:
    """Return the panel of the team's budgets. One lake query when it has any. The panel shows errors of the lake."""
    rows = Budget.objects.filter(account=account, team=team).select_related("cost_source", "team", "cost_tag")
    budgets = visible_budgets(rows.prefetch_related("amounts"))
    try:
        statuses = budget_statuses(account, budgets) if budgets else []
    except UserError as problem:
        return TeamPanel(TEMPLATE, {"error": problem.message})
    return TeamPanel(TEMPLATE, {"statuses": statuses})


@spend_forecasts.register("budgets")
def month_forecast(request: ForecastQuestion) -> SpendForecast:
    """Return the forecast of this month, by bucket and in total. One lake query."""
    query = request.query
    filters = [CostFilter(dimension=item.dimension, op=item.op, values=item.values) for item in query.filters]
    question = ForecastQuery(
        filters=filters,
        period="month",
        granularity=query.granularity,
        basis="amortized" if request.view.basis == "amortized" else "billed",
        charge_categories=query.charge_categories,
        splits=query.splits,
    )
    try:
        answer = forecast_spend(request.account, question, sources=request.sources)
    except UserError as problem:
        # The answer about spend is complete without the forecast.
        return SpendForecast({}, MONTH_END, {"error": problem.message})
    expected = {
        (total.currency, date.fromisoformat(day)): amount
        for total in answer.totals
        for day, amount in total.series.items()
        if amount is not None and total.lower_series.get(day) is not None
    }
    previous_month = answer.period.start_date - timedelta(days=1)
    return SpendForecast(expected, MONTH_END, {"answer": answer, "previous_month": previous_month})


@dimension_uses.register("budgets")
def budgets_of_cost_tag(account: Account, dimension: str) -> list[str]:
    family, _, key = dimension.partition(":")
    if family != "cost_tag":
        return []
    rows = Budget.objects.filter(account=account, cost_tag__key__iexact=key).select_related("cost_tag")
    return [f"budget {row.name}" for row in visible_budgets(rows)]


def _has_budget(_account: Account) -> Q:
    return Q(Exists(Budget.objects.all()))


_FIRST_BUDGET = FirstStep(
    title="Create a budget",
    text="Warns before the month is over.",
    action="Create budget",
    url_name="budget_new",
    icon="wallet",
    place=40,
    role=Role.MEMBER,
    is_done=_has_budget,
)
first_steps.add("budget", _FIRST_BUDGET)
