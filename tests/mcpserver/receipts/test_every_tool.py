"""Every tool whose answers carry receipts, with every example."""

from __future__ import annotations

import pytest

from mcpserver.registry import Tool, registry
from tests.cast import Cast
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.receipts.receipt_client import ask, verify

TOOLS = [tool for tool in registry if tool.has_receipt]


def test_answers_of_cost_have_receipts() -> None:
    assert "querySpend" in {tool.name for tool in TOOLS}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_answers_of_a_tool_are_the_same_when_they_are_verified(
    account_with_marks: Cast, db: None, tool: Tool
) -> None:
    """An answer without a query over cost has no receipt, such as one that there is no data for (see test_receipts)."""
    mcp_client = McpClient(mint(account_with_marks))
    answers = [(example, ask(mcp_client, tool.name, **example)) for example in tool.examples]
    verified = [(example, verify(mcp_client, answer)) for example, answer in answers if "receipt" in answer]

    assert verified or tool.name in ("explainSpendChange", "queryCostTag")
    for example, answer in verified:
        assert answer["outcome"] == "same", example
