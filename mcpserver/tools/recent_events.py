"""Tools for recent alerts and failed jobs, for assistants that start without data."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec.structs import replace

from finops.notifications.recent_events import recent_events
from finops.notifications.schemas import RecentEventsAnswer, RecentEventsQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits

PAGE = "notifications/"


@tool(
    name="listRecentEvents",
    title="List recent events",
    access=ToolAccess.READ,
    description="""
        Alerts that fired (budgets, anomalies, late or failing connections) and failed imports, syncs and
        exports, newest first.
    """,
    examples=[{}, {"days": 30, "limit": 5}],
)
def list_recent_events(call: ToolCall, arguments: RecentEventsQuery) -> RecentEventsAnswer:
    console = urlsplit(call.console)
    site = f"{console.scheme}://{console.netloc}"

    def make_answer(limit: int) -> RecentEventsAnswer:
        answer = recent_events(call.account, replace(arguments, limit=limit), site=site)
        return replace(answer, console_url=call.console_url(PAGE))

    return page_that_fits(make_answer, arguments.limit)
