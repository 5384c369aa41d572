"""Shared parts of the tests of first sentences: the days of March with bills, and the sentence of an answer."""

from __future__ import annotations

from datetime import date
from typing import Any

from tests.factories.days import days
from tests.mcpserver.mcp_client import McpClient

MARCH_TO_DATE = days(date(2026, 3, 1), date(2026, 3, 19))


def summary_of(mcp_client: McpClient, tool: str, /, **arguments: Any) -> str:
    summary: str = mcp_client.ask(tool, **arguments)["summary"]
    return summary
