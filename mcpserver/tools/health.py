"""Tools for data health."""

from __future__ import annotations

import msgspec

from finops.insights.data_health import SHOWN, HealthAnswer, health_facts
from finops.lib.answers import largest_that_fits
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits


class GetDataHealthArguments(msgspec.Struct, kw_only=True):
    pass


@tool(
    name="getDataHealth",
    title="Get data health",
    access=ToolAccess.READ,
    description="""
        Health of each connection: last day with data, next expected data, gaps, restated months, errors and
        actions. Use it when numbers look missing or old.
    """,
    examples=[{}],
)
def get_data_health(call: ToolCall, arguments: GetDataHealthArguments) -> HealthAnswer:
    facts = health_facts(call.account, deadline=call.deadline)

    def make_answer(shown: int) -> HealthAnswer:
        answer = facts.answer(shown)
        return msgspec.structs.replace(answer, console_url=call.console_url("connections/health/"))

    return largest_that_fits(make_answer, SHOWN, fits)
