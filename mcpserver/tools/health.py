"""How well the data is."""

from __future__ import annotations

import msgspec

from finops.insights.data_health.answers import HealthAnswer
from finops.insights.data_health.queries import SHOWN, data_health
from mcpserver.context import ToolCall
from mcpserver.execution import MAX_ANSWER_BYTES
from mcpserver.registry import Access, tool
from mcpserver.results import encode_answer


class GetDataHealthArguments(msgspec.Struct, kw_only=True):
    pass


@tool(
    name="getDataHealth",
    title="Get data health",
    access=Access.READ,
    description="""
        Each connection's health: through which day it has data, when more is due, gaps, restated months, what is
        wrong and what to do. Use it when numbers look missing or old.
    """,
    examples=[{}],
)
def get_data_health(call: ToolCall, arguments: GetDataHealthArguments) -> HealthAnswer:
    shown = SHOWN
    while True:
        answer = data_health(call.account, deadline=call.deadline, shown=shown)
        answer = msgspec.structs.replace(answer, console_url=call.console_url("connections/health/"))
        if shown == 1 or len(encode_answer(answer)) <= MAX_ANSWER_BYTES:
            return answer
        shown //= 2
