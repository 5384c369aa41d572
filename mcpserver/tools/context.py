"""Where an assistant begins."""

from __future__ import annotations

import msgspec

from finops.costs import queries
from finops.costs.answers import ContextAnswer
from mcpserver.context import ToolCall
from mcpserver.registry import Access, tool


class GetAccountContextArguments(msgspec.Struct, kw_only=True):
    pass


@tool(
    name="getAccountContext",
    title="Get account context",
    access=Access.READ,
    description="""
        Call this first, once: which account this is, what today is, the cost view, currencies, which days have data
        and how each source is, the dimensions and tag keys to group and filter by, and what words mean in this account. It
        has no amounts: querySpend.
    """,
    examples=[{}],
)
def get_account_context(call: ToolCall, arguments: GetAccountContextArguments) -> ContextAnswer:
    answer = queries.account_context(call.account, call.credential, deadline=call.deadline)
    return msgspec.structs.replace(answer, console_url=call.console_url())
