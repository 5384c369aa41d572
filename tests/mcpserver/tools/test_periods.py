"""Without dates, tools that take a period answer for the same days. A new tool joins by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from finops.lib import clock
from mcpserver.registry import Tool, ToolAccess, registry
from tests.cast import Cast
from tests.mcpserver.mcp_client import McpClient

# Whose nature is another, and what of their definition says so.
OTHERS = {
    "forecastSpend": "Current month, quarter or year to its end, or next_days from today.",
    "listDimensionValues": "last 365 days with data",
    "listChangeEvents": "of all days",
    "listUsageEvents": "of all days",
}
TAKING = [
    tool
    for tool in registry
    if tool.access is ToolAccess.READ and {"period", "start_date"} & set(tool.input_schema["properties"])
]
NEEDED = {"queryUsage": {"usage_metric": "requests"}, "queryUnitCost": {"usage_metric": "requests"}}
STATES = ("listAnomalies",)
"""Lists of what is open, of any day: their dates only narrow."""


@pytest.fixture
def cast(busy_account: Cast, db: None) -> Cast:
    return busy_account


def test_tools_with_other_days_say_so() -> None:
    assert set(OTHERS) <= {tool.name for tool in TAKING}
    for name, sentence in OTHERS.items():
        tool = registry.get(name)
        assert tool is not None
        assert sentence in f"{tool.description} {tool.input_schema}"


@pytest.mark.parametrize(
    "tool", [tool for tool in TAKING if tool.name not in {*OTHERS, *STATES}], ids=lambda tool: tool.name
)
def test_without_dates_it_is_the_last_30_days(mcp_client: McpClient, tool: Tool) -> None:
    result = mcp_client.call(tool.name, **NEEDED.get(tool.name, {}))
    assert not result.get("isError"), result
    answer = result["structuredContent"]

    days = answer.get("period") or answer["days"]
    yesterday = clock.today() - timedelta(days=1)
    if "previous_start_date" in days:  # only days with complete data are compared, so it may end earlier
        assert days["start_date"] == (yesterday - timedelta(days=29)).isoformat()
        return
    assert (days["start_date"], days["end_date"]) == (
        (yesterday - timedelta(days=29)).isoformat(),
        yesterday.isoformat(),
    )
