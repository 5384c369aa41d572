"""Tools for change events: deployments, releases, purchases, incidents, notes."""

from __future__ import annotations

from msgspec.structs import replace

from finops.change_events.queries import list_change_events as list_events
from finops.change_events.schemas import ChangeEventsAnswer, ChangeEventsQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits

PAGE = "events/"


@tool(
    name="listChangeEvents",
    title="List change events",
    access=ToolAccess.READ,
    description="""
        Deployments, releases, incidents, purchases and notes of all days, newest first.
    """,
    examples=[{}, {"kinds": ["deployment"], "filters": [{"dimension": "service", "values": ["EC2"]}]}],
)
def list_change_events(call: ToolCall, arguments: ChangeEventsQuery) -> ChangeEventsAnswer:
    # The page filters by one kind; the answer may have several.
    kind = arguments.kinds[0] if len(arguments.kinds) == 1 else ""
    url = call.console_url(PAGE, {"kind": kind})

    def make_answer(limit: int) -> ChangeEventsAnswer:
        return replace(list_events(call.account, replace(arguments, limit=limit)), console_url=url)

    return page_that_fits(make_answer, arguments.limit)
