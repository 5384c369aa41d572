"""Tools for data health."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from finops.insights.data_health import SHOWN, HealthAnswer, health_facts
from finops.lib.answers import largest_that_fits
from finops.lib.errors import unknown_value
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits


class GetDataHealthArguments(msgspec.Struct, kw_only=True):
    connection: Annotated[str, Meta(description="Lists only this one, by name.")] = ""


@tool(
    name="getDataHealth",
    title="Get data health",
    access=ToolAccess.READ,
    description="""
        Health of each connection: last day with data, next expected data, gaps, restated months, errors,
        actions. For missing or old numbers.
    """,
    examples=[{}],
)
def get_data_health(call: ToolCall, arguments: GetDataHealthArguments) -> HealthAnswer:
    facts = health_facts(call.account, deadline=call.deadline)
    name = arguments.connection.strip()
    named = [each for each in facts.connections if each.name.casefold() == name.casefold()]
    if name and not named:
        raise unknown_value("connection", name, [each.name for each in facts.connections])

    def make_answer(shown: int) -> HealthAnswer:
        answer = facts.answer(shown)
        if name:
            answer = msgspec.structs.replace(answer, connections=named, truncated="")
        return msgspec.structs.replace(answer, console_url=call.console_url("connections/health/"))

    return largest_that_fits(make_answer, SHOWN, fits)
