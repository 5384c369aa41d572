"""Largest costs of a month, and what increases them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from mcpserver.prompt_builder.arguments import BASIS, FILTER_BY, GROUP_BY, VALUE
from mcpserver.prompt_builder.days import month, month_of, this_month
from mcpserver.prompt_builder.prompt_context import PromptContext
from mcpserver.prompt_builder.registration import prompt
from mcpserver.prompt_builder.script import LINKS, NEXT, Script, Step, date_arguments, equality_filters, only

MONTH = month("this month so far")

OFFERS = {
    "create_budget": (
        "a budget for rising cost without one; I give its `name`, `amount`, `currency` and scope."
    ),
}

THEN = (
    (
        "For the one with the largest increase, call `querySpend` again with the arguments of the first call, `granularity` `day` "
        "and a filter on it, to see when it started."
    ),
)


@prompt(
    name="top_cost_drivers",
    title="Top cost drivers this month",
    description="Largest costs this month, what changed, and the month-end forecast.",
    arguments=(MONTH, GROUP_BY, FILTER_BY, VALUE, BASIS),
)
def top_cost_drivers(ctx: PromptContext) -> Script:
    """Return the script. Raises UserError for a dimension to filter by without its value."""
    days = ctx.value(MONTH) or this_month(ctx)
    group, filter_dimension = ctx.value(GROUP_BY), ctx.value(FILTER_BY)
    value = ctx.value(VALUE)
    if filter_dimension and not value:
        raise UserError(f"value: set the {filter_dimension.name}, or remove filter_by.", field="value")
    by = group.name if group else "service"
    filters = equality_filters(**{filter_dimension.name: value}) if filter_dimension else []
    cost = {"filters": filters, "basis": ctx.value(BASIS)}
    is_this_month = days == month_of(ctx.today)
    forecast = Step(
        "forecastSpend",
        {"period": "month", "group_by": [by], **cost},
        f"Month-end forecast by {by}, with its 80% range.",
    )
    return Script(
        task=f"Show me the top cost drivers of the month from {days.start} to {days.end}.",
        only=only(**{filter_dimension.name: value}) if filter_dimension else [],
        steps=[*_spend_steps(days, by, cost), *([forecast] if is_this_month else [])],
        then=THEN,
        answer=[
            "Headline: the total, its change in percent, and the one or two drivers behind it.",
            f"Table of at most 10 rows: {by}, amount, share, change; the row “other” last.",
            (
                "For the three largest: a breakdown in one sentence each. For the largest increase: "
                "since when, and why."
            ),
            *(["Month-end forecast with its 80% range."] if is_this_month else []),
            NEXT,
            LINKS,
        ],
        offers=OFFERS,
    )


def _spend_steps(days: DateRange, by: str, cost: Mapping[str, Any]) -> list[Step]:
    detail = "service" if by != "service" else "usage_type"
    return [
        Step(
            "querySpend",
            {**date_arguments(days), "group_by": [by], **cost, "compare_to": "previous_period", "limit": 10},
            f"Cost of the month by {by}, with shares, vs. the previous month.",
        ),
        Step(
            "explainSpendChange",
            {**date_arguments(days), "group_by": [by], **cost, "limit": 10},
            "Largest increases and decreases, new and ended cost, price vs. volume.",
        ),
        Step(
            "querySpend",
            {**date_arguments(days), "group_by": [by, detail], **cost, "limit": 15},
            f"Breakdown by {detail}.",
        ),
    ]
