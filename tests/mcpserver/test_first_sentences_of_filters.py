"""First sentences of filters on a tag key that no cost has."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.models import Account
from tests.factories.costs import add_source, cost
from tests.factories.days import days
from tests.factories.usage import add_usage, event
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient

NO_KEY = "; no cost has tag key 'enviroment'"
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("querySpend", {"period": "month_to_date"}),
    ("explainSpendChange", {"period": "month_to_date"}),
    ("forecastSpend", {}),
    ("queryUnitCost", {"period": "month_to_date", "usage_metric": "requests"}),
    ("simulateCost", {"period": "month_to_date", "growth": [{"percent": "10"}]}),
    ("getCommitmentUtilization", {"period": "month_to_date"}),
]


def add_tagged_cost(account: Account) -> None:
    """10 USD of usage a day with the tag environment, and an event a day in March."""
    every = days(date(2025, 12, 1), date(2026, 3, 19))
    add_source(account, [cost(day, 10, tags={"environment": "prod"}) for day in every])
    add_usage(account, [event(day, "globex", 5) for day in MARCH_TO_DATE])


def filter_on(key: str, op: str) -> list[dict[str, Any]]:
    return [{"dimension": f"tag:{key}", "op": op, "values": ["prod"]}]


@pytest.mark.parametrize("op", ["in", "not_in"])
@pytest.mark.parametrize(("tool", "arguments"), TOOLS, ids=[tool for tool, _ in TOOLS])
def test_a_filter_on_a_tag_key_that_no_cost_has_is_named_once(
    acme: Account, mcp_client: McpClient, tool: str, arguments: dict[str, Any], op: str
) -> None:
    add_tagged_cost(acme)

    answer = mcp_client.ask(tool, **arguments, filters=filter_on("enviroment", op))

    assert answer["summary"].count(NO_KEY) == 1
    assert "no cost on these days" not in answer["summary"]
    assert (
        "No cost has tag key 'enviroment'. Nearest: 'environment'. See getAccountContext."
        in answer["warnings"]
    )
    assert NO_KEY not in summary_of(mcp_client, tool, **arguments, filters=filter_on("environment", op))


def test_the_scope_of_an_assumption_on_an_unknown_tag_key_is_named(
    acme: Account, mcp_client: McpClient
) -> None:
    """Growth of nothing leaves the cost as it is, which reads as an assumption without effect."""
    add_tagged_cost(acme)
    growth = [{"dimension": "tag:enviroment", "values": ["prod"], "percent": "10"}]

    sentence = summary_of(mcp_client, "simulateCost", period="month_to_date", growth=growth)

    assert "would have been 190.00 USD instead of 190.00 USD" in sentence
    assert NO_KEY in sentence


def test_a_forecast_of_nothing_names_the_filter_value_that_no_cost_has(
    acme: Account, mcp_client: McpClient
) -> None:
    add_tagged_cost(acme)
    quantum = [{"dimension": "service", "values": ["Quantum"]}]

    sentence = summary_of(mcp_client, "forecastSpend", filters=quantum)

    assert sentence.startswith("No cost line matches the filters, so nothing can be forecast")
    assert "; no cost on these days has service 'Quantum'" in sentence


def test_a_purchase_plan_within_an_unknown_tag_key_names_it(acme: Account, mcp_client: McpClient) -> None:
    add_tagged_cost(acme)

    sentence = summary_of(mcp_client, "planCommitmentPurchase", filters=filter_on("enviroment", "in"))

    assert sentence.startswith("No usage at standard prices that a commitment could cover")
    assert NO_KEY in sentence
