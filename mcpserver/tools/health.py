"""How well the data is."""

from __future__ import annotations

import msgspec

from finops.costs.answers import HealthAnswer
from finops.insights import queries
from mcpserver.context import ToolCall
from mcpserver.registry import Access, tool


class GetDataHealthArguments(msgspec.Struct, kw_only=True):
    pass


@tool(
    name="getDataHealth",
    title="Get data health",
    access=Access.READ,
    description="""
        Each connection's health: the days it has, its newest import, and what is wrong. Use it when numbers look
        missing or old, or a warning names a source. Not for cost: querySpend.
    """,
    examples=[{}],
)
def get_data_health(call: ToolCall, arguments: GetDataHealthArguments) -> HealthAnswer:
    answer = queries.data_health(call.account)
    return msgspec.structs.replace(answer, console_url=call.console_url("connections/"))
