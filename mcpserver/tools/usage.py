"""What customers used, as their backends pushed it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ingestion import queries
from ingestion.answers import EventsAnswer, UsageAnswer
from ingestion.usage_query import EventsQuery, UsageQuery
from mcpserver.context import ToolCall
from mcpserver.execution import MAX_ANSWER_BYTES
from mcpserver.registry import Access, tool
from mcpserver.results import encode_answer

PAGE = "usage/"
CONNECTIONS = "connections/"
MAX_URL = 4_000


def _fits(answer: msgspec.Struct) -> bool:
    return len(encode_answer(answer)) <= MAX_ANSWER_BYTES


@tool(
    name="queryUsage",
    title="Query usage",
    access=Access.READ,
    answer_depth=0,
    description="""
        How much of a pushed usage metric (requests, seats …) was used: in total, by customer or dimension, over time. It
        aggregates exactly: do not add rows or buckets yourself. Not for cost per unit: queryUnitCost; single events:
        listUsageEvents. Example: {"metric": "requests", "period": "last_month", "group_by": "customer"}
    """,
    examples=[
        {},
        {"period": "last_30_days", "group_by": "customer", "granularity": "day"},
        {"period": "last_3_months", "granularity": "month", "group_by": "dimension:region", "top": 5},
        {"filters": [{"dimension": "region", "values": ["eu", "(none)"]}]},
    ],
)
def query_usage(call: ToolCall, arguments: UsageQuery) -> UsageAnswer:
    answer = _linked(call, arguments, queries.query_usage(call.account, arguments, deadline=call.deadline))
    return queries.shortened(call.account, arguments, answer, _fits, deadline=call.deadline)


def _linked(call: ToolCall, query: UsageQuery, answer: UsageAnswer) -> UsageAnswer:
    """With the page of the same query; browsers and proxies take so much."""
    url = call.console_url(PAGE, query.to_params())
    if len(url) <= MAX_URL:
        return replace(answer, console_url=url)
    short = call.console_url(PAGE, replace(query, filters=[], customers=[]).to_params())
    note = "The filters are too long for a link, so console_url opens the query without them."
    return replace(answer, console_url=short, warnings=[*answer.warnings, note])


@tool(
    name="listUsageEvents",
    title="List usage events",
    access=Access.READ,
    description="""
        Raw pushed usage events, the newest first, page by page. Use it to check what arrived: a customer's last events, a
        unit, a dimension's spelling. Not for sums: queryUsage.
        Example: {"customer": "acme", "limit": 20}
    """,
    examples=[{}, {"period": "last_30_days", "limit": 2}],
)
def list_usage_events(call: ToolCall, arguments: EventsQuery) -> EventsAnswer:
    limit = arguments.limit
    while True:
        answer = queries.list_usage_events(
            call.account, replace(arguments, limit=limit), deadline=call.deadline
        )
        answer = replace(answer, console_url=_events_url(call, arguments))
        if limit == 1 or _fits(answer):
            return answer
        limit //= 2


def _events_url(call: ToolCall, query: EventsQuery) -> str:
    """The Usage page of the same metric and customer."""
    asked = {
        "metric": query.metric,
        "customers": query.customer,
        "period": query.period or "",
        "start_date": str(query.start_date or ""),
        "end_date": str(query.end_date or ""),
    }
    return call.console_url(PAGE, asked)
