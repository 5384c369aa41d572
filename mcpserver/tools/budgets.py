"""Tools for budgets and their status."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.budgets import queries, services
from finops.budgets.schemas import BudgetAnswer, BudgetsAnswer, BudgetsQuery, ScopeName
from finops.budgets.scopes import ScopeDraft, ScopeRows, named_scope
from finops.budgets.services import BudgetDraft
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits

PAGE = "budgets/"


@tool(
    name="listBudgets",
    title="List budgets",
    access=ToolAccess.READ,
    has_view=True,
    converts=True,
    description="""
        Budgets in their current period, worst first: spend, forecast for its end, status and reason.
    """,
    examples=[{}, {"statuses": ["warning", "exceeded"], "scopes": ["account"], "limit": 5}],
)
def list_budgets(call: ToolCall, arguments: BudgetsQuery) -> BudgetsAnswer:
    url = _page(call, arguments)

    def make_answer(limit: int) -> BudgetsAnswer:
        query = replace(arguments, limit=limit)
        return replace(queries.list_budgets(call.account, query, deadline=call.deadline), console_url=url)

    return page_that_fits(make_answer, arguments.limit)


def _page(call: ToolCall, query: BudgetsQuery) -> str:
    """Return the URL of the budgets page. The page filters by one status and one scope only."""
    page_filters = (("status", query.statuses), ("scope", query.scopes))
    return call.console_url(PAGE, {name: values[0] for name, values in page_filters if len(values) == 1})


class CreateBudgetArguments(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    name: Annotated[str, Meta(description="Must be unused.", min_length=1, max_length=100)]
    amount: Annotated[
        Decimal,
        Meta(description="Per period, in whole currency units: 1500.50 is 1,500.50 USD, not cents."),
    ]
    currency: Annotated[
        str, Meta(description="Such as USD. Cost in others counts only with a display currency.")
    ]
    frequency: Annotated[
        Literal["monthly", "quarterly", "yearly"], Meta(description="How often it begins anew.")
    ] = "monthly"
    scope: Annotated[ScopeName | None, Meta(description="Default: from the fields below, or account.")] = None
    cost_source: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    team: Annotated[int | str | None, Meta(description="Name or ID.")] = None
    cost_tag: Annotated[int | str | None, Meta(description="Key or ID, with cost_tag_value.")] = None
    cost_tag_value: Annotated[str, Meta(description="See queryCostTag.")] = ""
    warning_percent: Annotated[int, Meta(description="Percent for status warning.", ge=1, le=100)] = 80
    amounts: Annotated[
        dict[date, Decimal],
        Meta(description='Of single periods, by first day: {"2026-12-01": 900}.'),
    ] = {}


@tool(
    name="create_budget",
    title="Create a budget",
    access=ToolAccess.WRITE,
    description="""
        Creates a budget for the account, a cost source, a team or a cost tag value.
    """,
    examples=[{"name": "Walk", "amount": 100, "currency": "USD"}],
)
def create_budget(call: ToolCall, arguments: CreateBudgetArguments) -> BudgetAnswer:
    budget = services.create_budget(
        account=call.account, actor=call.credential.actor, draft=_draft(arguments)
    )
    answer = queries.new_budget_answer(call.account, budget, deadline=call.deadline)
    return replace(answer, console_url=call.console_url(f"{PAGE}{budget.pk}/"))


def _draft(arguments: CreateBudgetArguments) -> BudgetDraft:
    rows: ScopeRows = {
        "cost_source": arguments.cost_source,
        "team": arguments.team,
        "cost_tag": arguments.cost_tag,
        "cost_tag_value": arguments.cost_tag_value,
    }
    return BudgetDraft(
        name=arguments.name,
        amount=arguments.amount,
        currency=arguments.currency,
        period=arguments.frequency,
        scope=ScopeDraft(scope=arguments.scope or named_scope(**rows) or "account", **rows),
        warning_percent=arguments.warning_percent,
        amounts=arguments.amounts,
    )
