"""Tools for the forecast of spend."""

from __future__ import annotations

from msgspec.structs import replace

from finops.budgets import queries
from finops.budgets.forecast_answers import ForecastAnswer
from finops.budgets.forecast_query import ForecastQuery
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "forecast/"
MAX_URL = 4_000


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
        Example: {"group_by": ["service"]}
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
    def make_answer(top: int) -> ForecastAnswer:
        query = replace(arguments, top=top)
        answer = queries.forecast_spend(call.account, query, deadline=call.deadline)
        return _with_console_url(call, arguments, answer)

    return largest_that_fits(make_answer, arguments.top, fits)


def _with_console_url(call: ToolCall, query: ForecastQuery, answer: ForecastAnswer) -> ForecastAnswer:
    """Add the URL of the page with the same query, without its filters if the URL would be too long for browsers and
    proxies."""
    url = call.console_url(PAGE, query.to_params())
    if len(url) <= MAX_URL:
        return replace(answer, console_url=url)
    note = "The filters are too long for a link, so console_url omits them."
    url = call.console_url(PAGE, replace(query, filters=[]).to_params())
    return replace(answer, console_url=url, warnings=[*answer.warnings, note])
