"""Tools that verify whether an earlier answer can be given again."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from finops.lib.time_limit import limit_time
from mcpserver.context import ToolCall
from mcpserver.receipts.answer import VerifiedAnswer, verified_answer
from mcpserver.registry import ToolAccess, tool


class VerifyAnswerArguments(msgspec.Struct, kw_only=True):
    receipt: Annotated[str, Meta(description="The field receipt of an answer.")] = ""


@tool(
    name="verifyAnswer",
    title="Verify an answer",
    access=ToolAccess.READ,
    description="""
        Recomputes an answer from its receipt with the original and current bills: same figures, or what was
        restated since.
    """,
    examples=[{}],
)
def verify_answer(call: ToolCall, arguments: VerifyAnswerArguments) -> VerifiedAnswer:
    with limit_time(
        call.remaining_seconds, "verifyAnswer timed out. Ask the question again for a new receipt."
    ):
        return verified_answer(call, arguments.receipt)
