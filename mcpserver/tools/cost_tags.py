"""Tools for cost tags, which the account's rules add to cost."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.allocation.cost_tags.schemas import CostTagAnswer, CostTagQuery, CostTagsAnswer
from finops.allocation.queries import cost_tags as queries
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import MAX_URL, fits

PAGE = "cost-tags/"
EXPLORER = "cost-explorer/"


class ListCostTagsArguments(msgspec.Struct, kw_only=True):
    cost_tag: Annotated[str, Meta(description="Only this key.")] = ""
    cursor: str = ""


@tool(
    name="listCostTags",
    title="List cost tags",
    access=ToolAccess.READ,
    description="""
        Cost tags: tags set by the account's own rules, in order (first match wins). Their cost:
        queryCostTag.
    """,
    examples=[{}],
)
def list_cost_tags(call: ToolCall, arguments: ListCostTagsArguments) -> CostTagsAnswer:
    def make_answer(limit: int) -> CostTagsAnswer:
        answer = queries.cost_tags_answer(
            call.account, cost_tag=arguments.cost_tag, cursor=arguments.cursor, limit=limit
        )
        return replace(answer, console_url=call.console_url(PAGE))

    return largest_that_fits(make_answer, queries.MAX_LINES, fits)


@tool(
    name="queryCostTag",
    title="Query cost tag",
    access=ToolAccess.READ,
    has_receipt=True,
    converts=True,
    description="""
        Cost by values of one cost tag before and after shared-cost splits, untagged cost, and by one more
        dimension. Trends: querySpend by cost_tag:<key>.
    """,
    examples=[{}, {"group_by": ["account"], "period": "last_month", "splits": "after"}],
)
def query_cost_tag(call: ToolCall, arguments: CostTagQuery) -> CostTagAnswer:
    def make_answer(limit: int) -> CostTagAnswer:
        answer = queries.query_cost_tag(call.account, replace(arguments, limit=limit), deadline=call.deadline)
        return replace(answer, console_url=_page(call, answer, arguments))

    return largest_that_fits(make_answer, arguments.limit, fits)


def _page(call: ToolCall, answer: CostTagAnswer, query: CostTagQuery) -> str:
    if not answer.cost_tag:
        return call.console_url(PAGE)
    dimension = f"cost_tag:{answer.cost_tag}"
    shown = SpendQuery(
        start_date=answer.period.start_date,
        end_date=answer.period.end_date,
        group_by=[dimension, *([query.by] if query.by else [])],
        filters=[Filter(dimension=dimension, values=query.values)] if query.values else [],
        basis=query.basis,
        splits=query.splits,
        limit=query.limit,
    )
    url = call.console_url(EXPLORER, shown.to_params())
    return url if len(url) <= MAX_URL else call.console_url(EXPLORER, replace(shown, filters=[]).to_params())
