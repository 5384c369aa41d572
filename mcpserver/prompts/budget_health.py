"""Which budgets are kept, and what drives those that are not."""

from __future__ import annotations

import msgspec

from finops.budgets.cycles import period_of
from finops.budgets.models import Budget
from finops.budgets.scopes import filters_of
from finops.lib.periods import DateRange
from mcpserver.prompting.arguments import BUDGET, SCOPE
from mcpserver.prompting.asked import Asked
from mcpserver.prompting.days import month_of
from mcpserver.prompting.registering import prompt
from mcpserver.prompting.script import LINKS, NEXT, Script, Step, dates, quoted

FORECAST_PERIODS = {"monthly": "month", "quarterly": "quarter", "yearly": "year"}


@prompt(
    name="budget_health",
    title="Budget health check",
    description="Which budgets are exceeded or will be, when, what drives them, and which cost no budget watches.",
    arguments=(BUDGET, SCOPE),
)
def budget_health(asked: Asked) -> Script:
    scope, budget = asked.value(SCOPE), asked.value(BUDGET)
    period = _period(asked, budget)
    filters = msgspec.to_builtins(filters_of(budget)) if budget else []
    about = f"the budget {quoted(budget.name)}" if budget else "our budgets"
    chosen = budget.scope if budget else scope
    return Script(
        task=f"Check the health of {about} in the period from {period.start} to {period.end}.",
        steps=[
            Step(
                "listBudgets",
                {"scope": [chosen] if chosen else []},
                "Each budget in its current period, worst first: spent, forecast, status and why."
                + (f" Read the one with id {budget.pk} out of it." if budget else ""),
            ),
            Step(
                "forecastSpend",
                {"period": FORECAST_PERIODS[budget.period] if budget else "month", "filters": filters},
                "What the same cost will come to at the period's end, with its band.",
            ),
            Step(
                "querySpend",
                {
                    **dates(period),
                    "group_by": ["service"],
                    "filters": filters,
                    "compare_to": "previous_period",
                    "top": 8,
                },
                "What the money went to so far, against the period before.",
            ),
            Step(
                "explainSpendChange",
                {**dates(period), "group_by": ["service"], "filters": filters, "top": 5},
                "What drives it: new, gone, price against volume.",
            ),
        ],
        then=[]
        if budget
        else [
            (
                "For each budget that is exceeded or in warning call `querySpend` with its own `start_date` and `end_date`, its "
                "scope as a filter (`source`, `team` or `cost_tag:<key>`) and `group_by` `service`."
            ),
        ],
        answer=[
            "Headline: how many budgets are exceeded, in warning and ok; or how this one stands.",
            "Table: budget, amount, spent in percent, forecast in percent, status; exceeded first.",
            "For each that is not ok: what drives it, on which day it is or will be reached, and what would keep it.",
            "What no budget watches, when the largest services or teams have none. Without any budget: say so first.",
            NEXT,
            LINKS,
        ],
        offers={
            "create_budget": "a budget for cost that none watches; name, scope, amount and currency as I say.",
            "create_alert_subscription": "an alert at a budget's threshold, through a channel that exists.",
        },
    )


def _period(asked: Asked, budget: Budget | None) -> DateRange:
    if budget is None:
        return month_of(asked.today)
    return period_of(budget.period, asked.today, asked.account.fiscal_start_month)
