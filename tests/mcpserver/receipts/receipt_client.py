"""An assistant that asks about September, and verifies a while later."""

from __future__ import annotations

from datetime import date
from typing import Any

from finops.receipts import records
from tests.factories.bills import Line, line
from tests.mcpserver.mcp_client import McpClient

ASKED, VERIFIED = date(2026, 10, 3), date(2026, 10, 20)
SEPTEMBER = {"start_date": "2026-09-01", "end_date": "2026-09-30", "group_by": ["service"]}


def september(compute: str, storage: str = "20") -> list[Line]:
    return [line(date(2026, 9, 5), compute), line(date(2026, 9, 6), storage, "Storage")]


def ask(mcp_client: McpClient, tool: str = "querySpend", /, **arguments: Any) -> dict[str, Any]:
    """An answer whose receipt is stored."""
    answer = mcp_client.ask(tool, **arguments)
    assert records.recorder.flush()
    return answer


def verify(mcp_client: McpClient, answer: dict[str, Any]) -> dict[str, Any]:
    return mcp_client.ask("verifyAnswer", receipt=answer["receipt"])
