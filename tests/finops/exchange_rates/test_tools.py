"""`display_currency` at the MCP endpoint: every tool of cost lines converts by the same rates, and names them."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.exchange_rates.services import enter_rate
from mcpserver.registry import registry
from tests.cast import ACTOR, Cast
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint

DAY = date(2026, 3, 18)
MARCH = {"start_date": "2026-03-01", "end_date": "2026-03-20"}


@pytest.fixture
def mcp_client(acme: Account, cast: Cast) -> McpClient:
    """1,000 USD and 300 EUR on one day, and a rate of 2 USD for a euro."""
    add_source(acme, [cost(DAY, 1000, service="EC2"), cost(DAY, 300, currency="EUR", service="VM")])
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal(2))
    return McpClient(mint(cast))


def test_spend_is_converted_with_its_rates_and_its_own_amounts(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("querySpend", **MARCH, display_currency="USD")
    assert [(total["amount"], total["currency"]) for total in answer["totals"]] == [(1600, "USD")]
    assert answer["own_amounts"] == [
        {"amount": 1000, "currency": "USD"},
        {"amount": 300, "currency": "EUR"},
    ]
    assert answer["conversion"] == {
        "display_currency": "USD",
        "start_date": "2026-03-01",
        "end_date": "2026-03-20",
        "exchange_rates": [
            {
                "currency": "EUR",
                "rate": "2",
                "start_date": "2026-03-18",
                "end_date": "2026-03-18",
                "rate_date": "2026-03-18",
                "source": "entered",
            }
        ],
        "account_costs": [{"currency": "EUR", "billed": 300, "amortized": 300, "converted": True}],
    }
    assert answer["console_url"].endswith("currency=USD")


def test_without_the_argument_an_answer_is_as_it_was(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("querySpend", **MARCH)
    assert len(answer["totals"]) == 2
    assert "conversion" not in answer
    assert "own_amounts" not in answer


def test_the_account_s_display_currency_counts_and_own_overrides_it(
    mcp_client: McpClient, acme: Account
) -> None:
    acme.display_currency = "USD"
    acme.save()
    assert len(mcp_client.ask("querySpend", **MARCH)["totals"]) == 1
    assert len(mcp_client.ask("querySpend", **MARCH, display_currency="own")["totals"]) == 2


def test_a_wrong_currency_is_refused_with_the_nearest(mcp_client: McpClient) -> None:
    assert "is not an ISO 4217 currency" in mcp_client.problem("querySpend", display_currency="EURO")


@pytest.mark.parametrize("name", [tool.name for tool in registry if tool.converts])
def test_every_tool_that_converts_takes_the_argument(mcp_client: McpClient, name: str) -> None:
    tool = registry.get(name)
    assert tool is not None
    for example in tool.examples:
        try:
            answer = mcp_client.ask(name, **example, display_currency="USD")
        except AssertionError as error:
            assert "display_currency" not in str(error)  # noqa: PT017 - what an empty account lacks is another matter
            continue
        assert len(json.dumps(answer)) < 26_000


def test_a_budget_counts_lines_of_other_currencies_in_its_own(mcp_client: McpClient, acme: Account) -> None:
    create_budget(acme, "All in dollars", 5000)
    create_budget(acme, "All in euros", 5000, currency="EUR")
    spent = {each["name"]: each["spent"] for each in mcp_client.ask("listBudgets")["budgets"]}
    assert spent == {"All in dollars": 1000, "All in euros": 300}
    spent = {
        each["name"]: each["spent"]
        for each in mcp_client.ask("listBudgets", display_currency="USD")["budgets"]
    }
    assert spent == {"All in dollars": 1600, "All in euros": 800}
