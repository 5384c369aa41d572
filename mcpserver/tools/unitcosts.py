"""Tools for unit costs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.exchange_rates.display import current_display
from finops.lib.answers import largest_that_fits
from finops.lib.listing import CsvTable
from finops.lib.query_page import ALL_ROWS
from finops.unitcosts import queries
from finops.unitcosts.answers import UnitCostAnswer, UnitMetricsAnswer
from finops.unitcosts.queries.unit_metrics import MAX_LISTED
from finops.unitcosts.queries.unit_metrics import list_unit_metrics as read_unit_metrics
from finops.unitcosts.unit_cost_csv import unit_cost_csv
from finops.unitcosts.unit_cost_query import UnitCostQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits, with_console_url

PAGE = "unit-economics/"
SAVED = "unit-economics/saved/"


def _csv(call: ToolCall, query: UnitCostQuery) -> CsvTable:
    def ask() -> UnitCostAnswer:
        return queries.query_unit_cost(call.account, replace(query, limit=ALL_ROWS), deadline=call.deadline)

    answer = ask()
    return unit_cost_csv(answer, current_display(), ask=ask, by_customer=bool(answer.rows))


@tool(
    name="queryUnitCost",
    title="Query unit cost",
    access=ToolAccess.READ,
    has_receipt=True,
    csv=_csv,
    has_view=True,
    converts=True,
    description="""
        Cost per unit of pushed usage (request, seat …), in total or per customer; null with a reason
        without usage. Not for spend: querySpend; usage alone: queryUsage.
    """,
    examples=[
        {"usage_metric": "requests"},
        {
            "usage_metric": "requests",
            "period": "last_6_months",
            "granularity": "month",
            "filters": [{"dimension": "service", "values": ["EC2"]}],
            "basis": "amortized",
            "compare_to": "previous_period",
        },
    ],
)
def query_unit_cost(call: ToolCall, arguments: UnitCostQuery) -> UnitCostAnswer:
    answer = queries.query_unit_cost(call.account, arguments, deadline=call.deadline)
    short = replace(arguments, usage_metric=arguments.usage_metric[:100], filters=[], customers=[])
    answer = with_console_url(call, PAGE, answer, arguments, short)
    return queries.fit_to_size(answer, fits, arguments.limit)


class ListUnitMetricsArguments(msgspec.Struct, kw_only=True):
    search: Annotated[str, Meta(description="Part of a name or usage metric.")] = ""
    cursor: str = ""


@tool(
    name="listUnitMetrics",
    title="List unit metrics",
    access=ToolAccess.READ,
    description="""
        Saved unit costs, such as cost per order: cost, usage metric, number of units. Values:
        queryUnitCost.
    """,
    examples=[{}],
)
def list_unit_metrics(call: ToolCall, arguments: ListUnitMetricsArguments) -> UnitMetricsAnswer:
    def make_answer(limit: int) -> UnitMetricsAnswer:
        answer = read_unit_metrics(
            call.account, search=arguments.search, cursor=arguments.cursor, limit=limit
        )
        return replace(answer, console_url=call.console_url(SAVED, {"q": arguments.search}))

    return largest_that_fits(make_answer, MAX_LISTED, fits)
