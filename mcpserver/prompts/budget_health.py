"""Status of budgets, and cost drivers of those at risk."""

from __future__ import annotations

from typing import Any

import msgspec

from finops.budgets.cycles import period_of
from finops.budgets.models import Budget
from finops.budgets.scopes import filters_of
from finops.costs.queries import currencies_of
from finops.lib.periods import DateRange
from mcpserver.prompt_builder.arguments import BUDGET, SCOPE
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import (
    LINKS,
    NEXT,
    Script,
    Step,
    date_arguments,
    equality_filters,
    json_text,
)

EACH_AT_RISK = (
    "For each budget that is exceeded or in warning call `querySpend` with its own `start_date` and `end_date`, its scope as "
    "a filter (`source`, `team` or `cost_tag:<key>`), one on `currency`, the `basis` above and `group_by` `service`."
)
FORECAST_PERIODS = {"monthly": "month", "quarterly": "quarter", "yearly": "year"}

OFFERS = {
    "create_budget": (
        "a budget for cost without one; I give its `name`, `amount`, `currency`, `frequency` and scope."
    ),
    "create_alert_subscription": (
        "with `trigger` `budget` and `thresholds`, for a budget without alerts, with a channel of "
        "`listAlertChannels`."
    ),
}


@prompt(
    name="budget_health",
    title="Budget health check",
    description="Budgets over or at risk, when, why, and cost without a budget.",
    arguments=(BUDGET, SCOPE),
)
def budget_health(ctx: PromptContext) -> Script:
    scope, budget = ctx.value(SCOPE), ctx.value(BUDGET)
    kind = budget.period if budget else Budget.Period.MONTHLY.value
    period = period_of(kind, ctx.today, ctx.account.fiscal_start_month)
    filters = _filters(ctx, budget) if budget else []
    basis = ctx.sources.view.planning_basis  # the basis of budgets
    scope_name = budget.scope if budget else scope
    by = _dimension(ctx, scope)
    return Script(
        task=(
            f"Check the health of {f'the budget {json_text(budget.name)}' if budget else 'our budgets'} in the period from "
            f"{period.start} to {period.end}."
        ),
        steps=[
            Step(
                "listBudgets",
                {"scopes": [scope_name] if scope_name else []},
                "Each budget in its current period, worst first: spent, forecast, status and why."
                + (f" Read the one with id {budget.pk} out of it." if budget else ""),
            ),
            *_cost_steps(period, FORECAST_PERIODS[kind], filters, basis),
            *([] if budget else [_spend_without_budget_step(period, by, basis)]),
            Step(
                "listAlertSubscriptions",
                {"triggers": ["budget"], "budget": budget.pk if budget else None},
                "Alerts on budget thresholds.",
            ),
        ],
        then=[] if budget else [EACH_AT_RISK],
        answer=[
            "Headline: "
            + (
                "its status."
                if budget
                else "number of budgets exceeded, in warning and ok. If there are none, say so first."
            ),
            "Table: budget, amount, spent in percent, forecast in percent, status; exceeded first.",
            (
                "For each that is not ok: cost drivers, the day it is or will be reached, and what would "
                "prevent it."
            ),
            *([] if budget else [f"Which {by} has high spend and no budget."]),
            "Whether alerts are set up.",
            NEXT,
            LINKS,
        ],
        offers=OFFERS,
    )


def _filters(ctx: PromptContext, budget: Budget) -> list[dict[str, Any]]:
    """Return filters for the budget's cost, without a currency that no line has: tools refuse such a filter."""
    has_lines = budget.currency in currencies_of(ctx.account, ctx.sources, ctx.call.deadline)
    currency = equality_filters(currency=budget.currency) if has_lines else []
    return [*msgspec.to_builtins(filters_of(budget)), *currency]


def _dimension(ctx: PromptContext, scope: str | None) -> str:
    """Return the dimension of budgets with the scope; for any scope, teams if the account has teams."""
    if scope == "cost_tag" and ctx.cost_tags:
        return f"cost_tag:{ctx.cost_tags[0]}"
    if scope == "cost_source" or not (scope == "team" or ctx.teams):
        return "source"
    return "team"


def _cost_steps(
    period: DateRange, forecast_period: str, filters: list[dict[str, Any]], basis: str
) -> list[Step]:
    cost = {**date_arguments(period), "group_by": ["service"], "filters": filters, "basis": basis}
    return [
        Step(
            "forecastSpend",
            {"period": forecast_period, "filters": filters, "basis": basis},
            "Forecast of the same cost for the period's end, with its 80% range.",
        ),
        Step(
            "querySpend",
            {**cost, "compare_to": "previous_period", "limit": 8},
            "Spend so far vs. the previous period.",
        ),
        Step("explainSpendChange", {**cost, "limit": 5}, "Cost drivers: new, ended, price vs. volume."),
    ]


def _spend_without_budget_step(period: DateRange, by: str, basis: str) -> Step:
    return Step(
        "querySpend",
        {**date_arguments(period), "group_by": [by], "basis": basis, "limit": 10},
        f"Spend by {by}, to find high spend without a budget.",
    )
