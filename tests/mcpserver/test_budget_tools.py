"""listBudgets, called over MCP with a key."""

from __future__ import annotations

import json
from datetime import timedelta
from unittest.mock import patch

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.budgets.models import Budget
from finops.lake.engine import engine
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.budgets import create_budget, daily_cost, source_scope
from tests.factories.costs import add_source
from tests.mcpserver.mcp_client import McpClient, mint

pytestmark = pytest.mark.django_db


@pytest.fixture
def account_with_spend(cast: Cast) -> Account:
    """1,234.56 USD a day since 100 days."""
    today = clock.today()
    with account_scope(cast.account):
        days = (today - timedelta(days=100), today - timedelta(days=1))
        add_source(
            cast.account, daily_cost(*days, "1234.56789"), name="A cost source with a name of some length"
        )
    return cast.account


def fill(account: Account, count: int = 50) -> None:
    with account_scope(account):
        scope = source_scope("A cost source with a name of some length")
        for number in range(count):
            create_budget(
                account,
                f"A budget with quite a long name for some purpose, number {number:02}",
                [40, 40_000, 900_000][number % 3],
                period=["monthly", "quarterly", "yearly"][number % 3],
                **({"scope": scope} if number % 2 else {}),
            )


def test_fifty_budgets_are_listed_by_page_with_one_lake_query_each(
    cast: Cast, account_with_spend: Account
) -> None:
    fill(account_with_spend)
    mcp_client, names, cursor = McpClient(mint(cast)), [], ""

    with patch.object(engine, "run", wraps=engine.run) as run:
        mcp_client.ask("listBudgets", limit=20)  # what does not fit is made again, of answers that are kept
    first = mcp_client.ask("listBudgets")
    while True:
        answer = mcp_client.ask("listBudgets", **({"cursor": cursor} if cursor else {}))
        names += answer["budgets"]
        cursor = answer["cursor"]
        if not cursor:
            break
        assert answer["truncated"]

    assert run.call_count == 1
    assert first["summary"].startswith("'Acme' has 50 budgets: ")
    assert len({row["id"] for row in names}) == len(names) == 50
    order = [row["status"] for row in names]
    assert order == sorted(order, key=["exceeded", "warning", "ok"].index)


def test_a_budget_says_spent_forecast_status_and_why(cast: Cast, account_with_spend: Account) -> None:
    with account_scope(account_with_spend):
        create_budget(account_with_spend, "Tiny", "0.01", period="yearly")

    (row,) = McpClient(mint(cast)).ask("listBudgets")["budgets"]

    assert (row["status"], row["currency"], row["amount"]) == ("exceeded", "USD", 0.01)
    assert "at or above the amount since" in row["status_reason"]
    assert row["forecast_low"] <= row["forecast"] <= row["forecast_high"]
    assert row["crosses_on"]


def test_status_and_scope_narrow_the_list(cast: Cast, account_with_spend: Account) -> None:
    fill(account_with_spend, 6)
    mcp_client = McpClient(mint(cast))

    exceeded = mcp_client.ask("listBudgets", statuses=["exceeded"])
    sources = mcp_client.ask("listBudgets", scopes=["cost_source"], statuses="ok")

    assert {row["status"] for row in exceeded["budgets"]} == {"exceeded"}
    assert {row["scope"] for row in sources["budgets"]} <= {"cost_source"}
    assert exceeded["console_url"].endswith("/budgets/?status=exceeded")
    path = exceeded["console_url"].removeprefix("http://127.0.0.1:8000")
    assert signed_in(cast.viewer).get(path).status_code == 200


def test_an_unknown_status_or_a_cursor_of_another_query_is_refused_with_the_valid_ones(
    cast: Cast, account_with_spend: Account
) -> None:
    fill(account_with_spend, 3)
    mcp_client = McpClient(mint(cast))
    page = mcp_client.ask("listBudgets", limit=1)

    assert "exceeded" in mcp_client.problem("listBudgets", statuses=["red"])
    assert "cursor" in mcp_client.problem("listBudgets", statuses=["ok"], cursor=page["cursor"])


def test_another_accounts_budgets_are_not_there(cast: Cast, account_with_spend: Account) -> None:
    with account_scope(cast.other_account):
        Budget.objects.create(account=cast.other_account, name="Theirs", amount=5, currency="USD")

    answer = McpClient(mint(cast)).ask("listBudgets")

    assert answer["budgets"] == []
    assert answer["summary"] == "'Acme' has no budgets."
    assert "Theirs" not in json.dumps(answer)
