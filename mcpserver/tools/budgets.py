"""What may be spent, and whether it will be kept."""

from __future__ import annotations

from msgspec.structs import replace

from finops.budgets import queries
from finops.budgets.answers import BudgetsAnswer
from finops.budgets.budgets_query import BudgetsQuery
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import Access, tool
from mcpserver.results import fits

PAGE = "budgets/"


@tool(
    name="listBudgets",
    title="List budgets",
    access=Access.READ,
    description="""
        Budgets in their current period, worst first: spent, forecast for its end, status and why. What drives one:
        querySpend. Example: {"status": ["exceeded"]}
    """,
    examples=[{}, {"status": ["warning", "exceeded"], "scope": ["account"], "limit": 5}],
)
def list_budgets(call: ToolCall, arguments: BudgetsQuery) -> BudgetsAnswer:
    url = _page(call, arguments)

    def made(limit: int) -> BudgetsAnswer:
        asked = replace(arguments, limit=limit)
        return replace(queries.list_budgets(call.account, asked, deadline=call.deadline), console_url=url)

    return largest_that_fits(made, arguments.limit, fits)


def _page(call: ToolCall, asked: BudgetsQuery) -> str:
    """The page narrows by one status and one scope."""
    chosen = (("status", asked.status), ("scope", asked.scope))
    return call.console_url(PAGE, {name: values[0] for name, values in chosen if len(values) == 1})
