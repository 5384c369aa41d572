"""forecastSpend, called over MCP with a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.budgets.forecast_query import ForecastQuery
from mcpserver.registry import registry
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint

pytestmark = pytest.mark.django_db

DAYS, TEAMS = 60, 60


@pytest.fixture
def payer(cast: Cast) -> Account:
    """Two months of cost in two currencies, of 60 teams with long names."""
    today = datetime.now(UTC).date()
    lines = [
        cost(
            today - timedelta(days=back),
            10 + place,
            tags={"team": f"team number {place:02} of a name that is quite long, as names of teams are"},
            currency="USD" if place % 2 else "EUR",
        )
        for back in range(1, DAYS + 1)
        for place in range(TEAMS)
    ]
    with account_scope(cast.account):
        add_source(cast.account, lines)
    return cast.account


def test_amounts_are_numbers_with_their_currency(cast: Cast, payer: Account) -> None:
    answer = McpClient(mint(cast)).ask("forecastSpend", period="next_days", days=10)

    usd = next(total for total in answer["totals"] if total["currency"] == "USD")
    daily = sum(10 + place for place in range(1, TEAMS, 2))
    assert (usd["actual"], usd["remaining"], usd["expected"]) == (0, 10 * daily, 10 * daily)
    assert usd["change"]["previous_amount"] == 10 * daily
    assert answer["account"]["slug"] == "acme"
    assert answer["summary"].startswith("'Acme' is forecast to spend")


def test_the_largest_answer_is_small_and_its_groups_are_whole(cast: Cast, payer: Account) -> None:
    answer = McpClient(mint(cast)).ask(
        "forecastSpend", period="next_days", days=100, granularity="day", group_by=["tag:team"], limit=25
    )

    assert answer["truncated"]
    for total in answer["totals"]:
        rows = [row for row in answer["rows"] if row["currency"] == total["currency"]]
        assert sum(row["expected"] for row in rows) == pytest.approx(total["expected"])


def test_the_tools_link_opens_the_same_question(cast: Cast, payer: Account) -> None:
    arguments = {
        "period": "next_days",
        "days": 45,
        "group_by": ["tag:team"],
        "filters": [{"dimension": "service", "op": "absent", "values": []}],
        "limit": 5,
    }
    url = urlsplit(McpClient(mint(cast)).ask("forecastSpend", **arguments)["console_url"])

    assert ForecastQuery.from_params(parse_qs(url.query)) == msgspec.convert(arguments, ForecastQuery)
    assert signed_in(cast.viewer).get(f"{url.path}?{url.query}").status_code == 200


def test_an_invalid_query_says_what_to_correct(cast: Cast, payer: Account) -> None:
    problem = McpClient(mint(cast)).problem("forecastSpend", period="year", granularity="day")

    assert "granularity day is limited to shorter periods than 365 days. Use week or month." in problem


def test_the_tools_definition_is_small() -> None:
    (tool,) = [tool for tool in registry if tool.name == "forecastSpend"]
    definition = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    assert len(msgspec.json.encode(definition)) < 2_500
