"""Tools for spend, and for the values of its dimensions."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.costs import queries
from finops.costs.answers import DimensionValuesAnswer, SpendAnswer
from finops.costs.spend_csv import spend_csv
from finops.costs.spend_query import Filter, SpendQuery, read_period
from finops.exchange_rates.display import current_display
from finops.lib.listing import CsvTable
from finops.lib.query_page import ALL_ROWS
from finops.lib.sentences import truncate
from mcpserver.cached_answers import current_sources
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits, page_that_fits, with_console_url

EXPLORER = "cost-explorer/"
MAX_LINKED = 10
MAX_LINKED_TEXT = 200


def _csv(call: ToolCall, query: SpendQuery) -> CsvTable:
    def ask() -> SpendAnswer:
        return queries.query_spend(call.account, replace(query, limit=ALL_ROWS), deadline=call.deadline)

    return spend_csv(ask(), current_display(), ask=ask)


@tool(
    name="querySpend",
    title="Query spend",
    access=ToolAccess.READ,
    has_view=True,
    has_receipt=True,
    is_cacheable=True,
    csv=_csv,
    converts=True,
    description="""
        Spend in total or by up to two dimensions, over time, compared with a previous period: cost, top
        drivers, trends, shares. Totals, ranks and changes are exact: do not add rows. Days are UTC; without
        dates the last 30 days. Example:
        {"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"}
    """,
    examples=[
        {},
        {"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"},
        {
            "period": "last_30_days",
            "granularity": "day",
            "group_by": ["provider", "tag:env"],
            "filters": [{"dimension": "service", "op": "in", "values": ["EC2"]}],
            "basis": "amortized",
        },
        {"period": "last_12_months", "granularity": "month", "charge_categories": ["Usage"], "limit": 5},
    ],
)
def query_spend(call: ToolCall, arguments: SpendQuery) -> SpendAnswer:
    answer = queries.query_spend(
        call.account, arguments, sources=current_sources(), deadline=call.deadline, with_notes=True
    )
    answer = with_console_url(call, EXPLORER, answer, arguments, replace(arguments, filters=[]))
    return queries.fit_to_size(answer, fits, arguments.order_by)


class ListDimensionValuesArguments(msgspec.Struct, kw_only=True):
    dimension: Annotated[str, Meta(description="Such as service, account, tag:env; see getAccountContext.")]
    search: Annotated[
        str, Meta(description="Part of a value or name (not case-sensitive), or an alias such as EC2.")
    ] = ""
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[str | None, Meta(description="As in querySpend. Default: last 365 days with data.")] = (
        None
    )
    limit: Annotated[int, Meta(ge=1, le=queries.MAX_VALUES_LIMIT)] = 50
    cursor: str = ""


@tool(
    name="listDimensionValues",
    title="List dimension values",
    access=ToolAccess.READ,
    converts=True,
    description="""
        Values of a dimension in the data, largest cost first, with search. Use it before filtering by a
        value you have not seen.
    """,
    examples=[
        {"dimension": "service"},
        {"dimension": "account", "search": "a", "period": "last_90_days", "limit": 5},
    ],
)
def list_dimension_values(call: ToolCall, arguments: ListDimensionValuesArguments) -> DimensionValuesAnswer:
    days = queries.days_from_arguments(
        call.account, arguments.start_date, arguments.end_date, read_period(arguments.period)
    )

    def make_answer(limit: int) -> DimensionValuesAnswer:
        answer = queries.list_dimension_values(
            call.account,
            arguments.dimension,
            search=arguments.search,
            days=days,
            limit=limit,
            cursor=arguments.cursor,
            deadline=call.deadline,
        )
        return replace(answer, console_url=_values_url(call, arguments, answer))

    return page_that_fits(make_answer, arguments.limit)


def _values_url(
    call: ToolCall, arguments: ListDimensionValuesArguments, answer: DimensionValuesAnswer
) -> str:
    """Return the URL of the cost of the same days by this dimension; after a search, filtered by the first values of
    the result."""
    linked_values = (
        [truncate(value.value, MAX_LINKED_TEXT) for value in answer.values[:MAX_LINKED]]
        if arguments.search
        else []
    )
    query = SpendQuery(
        start_date=answer.start_date,
        end_date=answer.end_date,
        group_by=[answer.dimension],
        filters=[Filter(dimension=answer.dimension, values=linked_values)] if linked_values else [],
    )
    return call.console_url(EXPLORER, query.to_params())
