"""No amount without its currency in any real answer, whole numbers included. A new tool joins by itself."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from accounts.scoping import account_scope
from finops.lib import clock
from mcpserver.registry import Tool, ToolAccess, registry
from tests.cast import Cast
from tests.factories.usage import event, push_events
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.tools.amounts import bare_amounts_of_answer

TOOLS = list(registry)


@pytest.fixture
def cast(busy_account: Cast, db: None) -> Cast:
    return busy_account


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.access is ToolAccess.READ], ids=lambda tool: tool.name
)
def test_no_real_answer_has_a_bare_amount(mcp_client: McpClient, tool: Tool) -> None:
    for arguments in tool.examples:
        result = mcp_client.call(tool.name, **arguments)
        assert not result.get("isError"), result
        assert bare_amounts_of_answer(result["structuredContent"]) == []
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_revenue_in_one_currency_is_next_to_no_cost_in_another(mcp_client: McpClient, cast: Cast) -> None:
    sold = [
        event(clock.today() - timedelta(days=back), "prod", 50, metric="revenue", unit="USD")
        for back in range(1, 60)
    ]
    with account_scope(cast.account):
        push_events(cast.account, sold)

    answer = mcp_client.ask(
        "queryUnitCost",
        usage_metric="revenue",
        mode="per_customer",
        period="last_6_months",
        granularity="month",
        compare_to="previous_period",
    )

    holders = [
        *answer["totals"],
        *answer["rows"],
        *(bucket for total in answer["totals"] for bucket in total.get("buckets", [])),
    ]
    assert {each["currency"] for each in answer["totals"]} == {"USD", "EUR"}
    for each in holders:
        if each["currency"] == "EUR":
            assert (each["usage"], each["unit_cost"], each.get("margin")) == (None, None, None)
            assert each["reason"]
    (dollars,) = (each for each in answer["totals"] if each["currency"] == "USD")
    assert dollars["margin"] == pytest.approx(dollars["usage"] - dollars["cost"])
    assert "cost in EUR is not divided" in str(answer["totals"])


def test_the_walker_finds_bare_amounts() -> None:
    answer = {
        "days": 3,
        "totals": [
            {
                "amount": 1,
                "currency": "USD",
                "series": {"currency": "USD", "amounts": {"2026-01-01": 1.5}},
                "lower_series": {"2026-01-01": 1.5},
                "inside": [{"amount": 2}],
            }
        ],
        "threshold": 10,
        "series": {"2026-01-01": 4},
        "unfinished": True,
    }
    assert bare_amounts_of_answer(answer) == [
        "$.totals[0].lower_series",
        "$.totals[0].inside[0].amount",
        "$.threshold",
        "$.series",
    ]
