"""Savings and anomalies of a part of the cost: a team, a source, an account, a provider; at the MCP endpoint and on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import TeamKey
from finops.allocation.services.teams import create_team, own_value
from finops.costs.models import CostSource
from finops.insights.models import Anomaly
from finops.lib import clock
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.anomalies import add_anomaly
from tests.factories.costs import Line, add_source
from tests.finops.insights.savings.bills import NOON, daily
from tests.mcpserver.mcp_client import McpClient, mint


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Two teams, told apart by a tag: Core in the account prod of AWS, Data in the account lab; and Azure of nobody."""
    with account_scope(cast.account), clock.frozen(NOON):
        TeamKey.objects.create(account=cast.account, dimension="tag:team")
        for team, value in (("Core", "core"), ("Data", "data")):
            own_value(
                team=create_team(account=cast.account, actor=ACTOR, name=team), actor=ACTOR, value=value
            )
        yield cast.account


@pytest.fixture
def mcp_client(cast: Cast, acme: Account) -> McpClient:
    return McpClient(mint(cast))


def generation(amount: str, **columns: Any) -> list[Line]:
    """An old instance: of 30 days at `amount`, 4 % are saved by the next generation."""
    return daily(amount, usage_type="BoxUsage:m4.xlarge", **columns)


def bills(acme: Account) -> None:
    add_source(
        acme,
        [
            *generation("10", resource_id="i-core", tags={"team": "core"}),
            *generation("20", resource_id="i-data", account_id="222", account_name="lab", tags={"team": "data"}),
        ],
        name="AWS bill",
    )  # fmt: skip
    add_source(acme, generation("40", resource_id="i-other"), name="Second bill")


def savings(mcp_client: McpClient, **arguments: Any) -> dict[str, Any]:
    return mcp_client.ask("listSavingsRecommendations", rule="previous_generation", **arguments)


@pytest.mark.parametrize(
    ("scope", "saving"),
    [
        ({}, 12 + 24 + 48),
        ({"team": "Core"}, 12),
        ({"team": "data"}, 24),
        ({"account": "lab"}, 24),
        ({"account": "222"}, 24),
        ({"cost_source": "Second bill"}, 48),
        ({"provider": "aws"}, 12 + 24 + 48),
        ({"team": "Core", "cost_source": "AWS bill"}, 12),
    ],
    ids=lambda value: str(value),
)
def test_savings_are_of_the_lines_of_a_scope(
    mcp_client: McpClient, acme: Account, scope: dict[str, str], saving: int
) -> None:
    bills(acme)

    answer = savings(mcp_client, **scope)

    assert sum(row["monthly_saving"] for row in answer["recommendations"]) == saving
    assert [(each["monthly_saving"], each["currency"]) for each in answer["totals"]] == [(saving, "USD")]
    assert all(value in answer["summary"] for value in scope.values())


@pytest.mark.parametrize("tool", ["listSavingsRecommendations", "listAnomalies"])
def test_a_scope_with_an_unknown_value_is_refused_with_the_nearest(
    mcp_client: McpClient, acme: Account, tool: str
) -> None:
    bills(acme)

    for scope, nearest in (
        ({"team": "Cor"}, "Core"),
        ({"cost_source": "Second bil"}, "Second bill"),
        ({"account": "labb"}, "lab"),
        ({"provider": "Azur"}, "AWS"),
    ):
        assert nearest in mcp_client.problem(tool, **scope)
    mcp_client.ask(tool, provider="aws", account="222")


@pytest.mark.parametrize("tool", ["listSavingsRecommendations", "listAnomalies"])
def test_a_currency_that_no_cost_is_in_is_refused_with_those_there_are(
    mcp_client: McpClient, acme: Account, tool: str
) -> None:
    bills(acme)

    problem = mcp_client.problem(tool, currency="eur")

    assert "'EUR'" in problem
    assert "USD" in problem
    mcp_client.ask(tool, currency="usd")


def test_the_page_of_savings_is_narrowed_alike_and_says_by_what(cast: Cast, acme: Account) -> None:
    bills(acme)

    page = signed_in(cast.viewer).get(f"/a/{acme.slug}/savings/", {"team": "Core"}).content.decode()

    assert "Team: Core" in page
    assert "i-data" not in page
    assert "12.00" in page
    assert "84.00" not in page


def anomaly(source: CostSource, number: int, value: str, impact: int) -> Anomaly:
    return add_anomaly(
        source.account,
        source,
        key=f"anom_{number:016}",
        value=value,
        currency="USD",
        kind="spike",
        severity="low",
        first_day=date(2026, 2, 20),
        last_day=date(2026, 2, 20),
        actual=Decimal(impact + 10),
        expected=Decimal(10),
        impact=Decimal(impact),
        month_end_impact=Decimal(impact),
        days=[["2026-02-20", str(impact + 10), "10", "5", "15"]],
        causes=[],
    )


def spike(day: date) -> str:
    return "110" if day == date(2026, 2, 20) else "10"


def test_anomalies_are_of_a_scope_whose_cost_moved_in_their_days(
    mcp_client: McpClient, acme: Account, cast: Cast
) -> None:
    source = add_source(
        acme,
        [
            *daily(spike, service="Queue", tags={"team": "core"}),
            *daily("10", service="Queue", account_id="222", account_name="lab", tags={"team": "data"}),
            *daily(spike, service="Lake", account_id="222", account_name="lab", tags={"team": "data"}),
        ],
    )
    anomaly(source, 1, "Queue", 100)
    anomaly(source, 2, "Lake", 100)

    def of(**scope: str) -> list[tuple[str, Any, str]]:
        rows = mcp_client.ask("listAnomalies", **scope)["anomalies"]
        return sorted((row["value"], row.get("impact_in_scope"), row["currency"]) for row in rows)

    assert of(team="Core") == [("Queue", 100, "USD")]
    assert of(account="lab") == of(team="Data") == [("Lake", 100, "USD")]
    assert of() == [("Lake", None, "USD"), ("Queue", None, "USD")]
    assert [value for value, *_ in of(cost_source="Bill", provider="AWS")] == ["Lake", "Queue"]
    page = signed_in(cast.viewer).get(f"/a/{acme.slug}/anomalies/", {"team": "Core"}).content.decode()
    assert "Queue" in page
    assert "Lake" not in page


@pytest.mark.parametrize("page", ["savings", "anomalies"])
def test_a_page_of_a_scope_with_an_unknown_value_says_so(cast: Cast, acme: Account, page: str) -> None:
    bills(acme)

    response = signed_in(cast.viewer).get(f"/a/{acme.slug}/{page}/", {"provider": "Azur"})

    assert "no cost has provider" in response.content.decode()
