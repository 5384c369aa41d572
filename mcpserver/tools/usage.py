"""Tools for customer usage, which backends push."""

from __future__ import annotations

from msgspec.structs import replace

from finops.lib.currencies import currency_of_unit
from finops.lib.listing import CsvTable
from finops.lib.sentences import truncate
from ingestion import queries
from ingestion.schemas import EventsAnswer, UsageAnswer, UsageChange, UsageEvent
from ingestion.usage_csv import usage_csv
from ingestion.usage_query import EventsQuery, UsageQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits, page_that_fits, with_console_url

PAGE = "usage/"
CONNECTIONS = "connections/"
# Pushed texts may have any length; one long text must not displace all other rows of an answer.
MAX_TEXT = 300
SHOWN_UNITS = 10
SHOWN_DIMENSIONS = 50


def _truncate_answer(answer: UsageAnswer) -> UsageAnswer:
    units = [truncate(unit, MAX_TEXT) for unit in answer.units[:SHOWN_UNITS]]
    unit = truncate(answer.unit, MAX_TEXT) if answer.unit else answer.unit
    rows = [
        replace(row, value=truncate(row.value, MAX_TEXT), name=truncate(row.name, MAX_TEXT))
        for row in answer.rows
    ]
    return _with_currency(replace(answer, unit=unit, units=units, rows=rows))


def _with_currency(answer: UsageAnswer) -> UsageAnswer:
    """Return the answer with the currency beside each quantity, if the metric's unit is one."""
    currency = currency_of_unit(answer.unit)
    if not currency:
        return answer

    def of_change(change: UsageChange | None) -> UsageChange | None:
        return replace(change, currency=currency) if change else None

    rows = [replace(row, currency=currency, change=of_change(row.change)) for row in answer.rows]
    return replace(answer, currency=currency, change=of_change(answer.change), rows=rows)


def _truncate_event(event: UsageEvent) -> UsageEvent:
    dimensions = [
        (truncate(key, MAX_TEXT), truncate(value, MAX_TEXT)) for key, value in event.dimensions.items()
    ]
    return replace(
        event,
        unit=truncate(event.unit, MAX_TEXT) if event.unit else event.unit,
        currency=currency_of_unit(event.unit),
        customer_name=truncate(event.customer_name, MAX_TEXT),
        dimensions=dict(dimensions[:SHOWN_DIMENSIONS]),
    )


def _csv(call: ToolCall, query: UsageQuery) -> CsvTable:
    return usage_csv(queries.query_usage(call.account, query, all_groups=True, deadline=call.deadline))


@tool(
    name="queryUsage",
    title="Query usage",
    access=ToolAccess.READ,
    csv=_csv,
    description="""
        Usage of a pushed metric (requests, seats …): in total, by customer or dimension, over time. Cost
        per unit: queryUnitCost; single events: listUsageEvents.
    """,
    examples=[
        {},
        {"period": "last_30_days", "group_by": ["customer"], "granularity": "day"},
        {"period": "last_3_months", "granularity": "month", "group_by": ["dimension:region"], "limit": 5},
        {"filters": [{"dimension": "region", "values": ["eu", "(none)"]}]},
    ],
)
def query_usage(call: ToolCall, arguments: UsageQuery) -> UsageAnswer:
    short = replace(arguments, filters=[], customers=[])
    answer = queries.query_usage(call.account, arguments, deadline=call.deadline)
    answer = with_console_url(call, PAGE, answer, arguments, short)
    return _truncate_answer(
        queries.fit_to_size(
            call.account, arguments, answer, lambda each: fits(_truncate_answer(each)), deadline=call.deadline
        )
    )


@tool(
    name="listUsageEvents",
    title="List usage events",
    access=ToolAccess.READ,
    description="""
        Raw pushed usage events of all days, newest first. To check received data. Totals:
        queryUsage.
    """,
    examples=[{}, {"period": "last_30_days", "limit": 2}],
)
def list_usage_events(call: ToolCall, arguments: EventsQuery) -> EventsAnswer:
    def make_answer(limit: int) -> EventsAnswer:
        answer = queries.list_usage_events(
            call.account, replace(arguments, limit=limit), deadline=call.deadline
        )
        return replace(
            answer,
            events=[_truncate_event(event) for event in answer.events],
            console_url=_events_url(call, arguments),
        )

    return page_that_fits(make_answer, arguments.limit)


def _events_url(call: ToolCall, query: EventsQuery) -> str:
    """Return the URL of the usage page for the same metric and customers."""
    params = {
        "usage_metric": query.usage_metric,
        "customers": query.customers,
        "period": query.period or "",
        "start_date": str(query.start_date or ""),
        "end_date": str(query.end_date or ""),
    }
    return call.console_url(PAGE, params)
