"""Tools for teams and cost ownership."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.allocation.queries.teams import list_teams as read_teams
from finops.allocation.team_schemas import TeamsAnswer
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "teams/"
MAX_TEAMS = 50


class ListTeamsArguments(msgspec.Struct, kw_only=True):
    search: Annotated[str, Meta(description="Part of a team, member or value.")] = ""
    cursor: str = ""


@tool(
    name="listTeams",
    title="List teams",
    access=ToolAccess.READ,
    description="""
        Teams: members, owned values of the team key, cost of the last complete month.
    """,
    examples=[{}, {"search": "a"}],
)
def list_teams(call: ToolCall, arguments: ListTeamsArguments) -> TeamsAnswer:
    def make_answer(limit: int) -> TeamsAnswer:
        answer = read_teams(
            call.account,
            search=arguments.search,
            cursor=arguments.cursor,
            limit=limit,
            deadline=call.deadline,
        )
        return replace(answer, console_url=call.console_url(PAGE, {"q": arguments.search}))

    return largest_that_fits(make_answer, MAX_TEAMS, fits)
