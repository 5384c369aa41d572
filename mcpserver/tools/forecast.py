"""Tools for the forecast of spend."""

from __future__ import annotations

from msgspec.structs import replace

from finops.budgets import queries
from finops.budgets.forecast_answers import ForecastAnswer
from finops.budgets.forecast_query import ForecastQuery
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits, with_console_url

PAGE = "forecast/"


@tool(
    name="forecastSpend",
    title="Forecast spend",
    access=ToolAccess.READ,
    has_receipt=True,
    has_view=True,
    converts=True,
    description="""
        Forecast of the current month, quarter, year or next days with an 80% range, actual spend and the
        previous period; null with a reason where history is too short.
    """,
    examples=[
        {},
        {
            "period": "next_days",
            "days": 90,
            "granularity": "month",
            "group_by": ["provider"],
            "filters": [{"dimension": "service", "values": ["EC2"]}],
            "basis": "amortized",
        },
    ],
)
def forecast_spend(call: ToolCall, arguments: ForecastQuery) -> ForecastAnswer:
    def make_answer(limit: int) -> ForecastAnswer:
        query = replace(arguments, limit=limit)
        answer = queries.forecast_spend(call.account, query, deadline=call.deadline)
        return with_console_url(call, PAGE, answer, arguments, replace(arguments, filters=[]))

    return largest_that_fits(make_answer, arguments.limit, fits)
