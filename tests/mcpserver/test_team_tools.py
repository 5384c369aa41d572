"""listTeams, listUnitMetrics, and unit metrics by name, called over MCP with a key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import Account, Membership
from accounts.scoping import account_scope
from finops.allocation.models import Team, TeamKey, TeamMember, TeamValue
from finops.lib.periods import add_months
from finops.unitcosts.models import UnitMetric
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event
from tests.mcpserver.mcp_client import McpClient, mint

TODAY = datetime.now(UTC).date()
LAST_MONTH = add_months(TODAY, -1)


@pytest.fixture
def payer(cast: Cast) -> Account:
    """Last month: 50 USD of payments, 30 of nobody, 10 EUR of payments; for 4 requests."""
    account = cast.account
    lines = [
        cost(LAST_MONTH, 50, tags={"team": "payments"}),
        cost(LAST_MONTH, 30),
        cost(LAST_MONTH, 10, currency="EUR", tags={"team": "PAYMENTS"}),
        cost(TODAY - timedelta(days=1), 1),
    ]
    used = [event(LAST_MONTH, "acme", 4)]
    with account_scope(account):
        add_source(account, lines)
        add_usage(account, used)
        TeamKey.objects.create(account=account, dimension="tag:team")
        team = Team.objects.create(account=account, name="Payments")
        TeamValue.objects.create(account=account, team=team, value="Payments")
        member = Membership.objects.get(account=account, user=cast.member)
        TeamMember.objects.create(account=account, team=team, membership=member)
        UnitMetric.objects.create(account=account, name="Cost per call", usage_metric="requests", per=2)
    return account


def test_teams_come_with_members_values_and_the_cost_of_last_month(
    cast: Cast, payer: Account, mcp_client: McpClient
) -> None:
    answer = mcp_client.ask("listTeams")

    (team,) = answer["teams"]
    assert (team["name"], team["members"], team["values"]) == ("Payments", ["Member"], ["Payments"])
    assert team["costs"] == [{"amount": 50, "currency": "USD"}, {"amount": 10, "currency": "EUR"}]
    assert answer["no_team"] == [{"amount": 30, "currency": "USD"}]
    assert answer["team_key"] == "tag:team"
    assert answer["period"]["start_date"] == LAST_MONTH.isoformat()
    assert signed_in(cast.viewer).get(answer["console_url"]).status_code == 200


@pytest.mark.usefixtures("payer")
def test_teams_are_searched_by_name_person_and_value(mcp_client: McpClient) -> None:
    counts = [len(mcp_client.ask("listTeams", search=text)["teams"]) for text in ("PAY", "member@", "zzz")]

    assert counts == [1, 1, 0]


def test_many_teams_come_page_by_page_and_fit(payer: Account, mcp_client: McpClient) -> None:
    with account_scope(payer):
        teams = Team.objects.bulk_create(
            Team(account=payer, name=f"Team {number:03} {'x' * 80}", description="y" * 500)
            for number in range(120)
        )
        TeamValue.objects.bulk_create(
            TeamValue(account=payer, team=team, value=f"{team.pk} {number} {'z' * 200}")
            for team in teams[:40]
            for number in range(40)
        )
    names, cursor = [], ""
    while True:
        answer = mcp_client.ask("listTeams", cursor=cursor)
        names += [team["name"] for team in answer["teams"]]
        cursor = answer["cursor"]
        if not cursor:
            break
        assert "of 121 teams. Use cursor for the next page." in answer["truncated"]

    assert len(names) == len(set(names)) == 121
    assert mcp_client.problem("listTeams", cursor="nonsense")


@pytest.mark.usefixtures("payer")
def test_a_unit_metric_is_listed_and_queried_by_name(cast: Cast, mcp_client: McpClient) -> None:
    (metric,) = mcp_client.ask("listUnitMetrics")["unit_metrics"]
    answer = mcp_client.ask("queryUnitCost", unit_metric="cost per call", period="last_month")
    other = mcp_client.ask("queryUnitCost", unit_metric="Cost per call", period="last_month", per=4)

    assert (metric["name"], metric["usage_metric"], metric["per"]) == ("Cost per call", "requests", 2)
    assert {total["currency"]: total["unit_cost"] for total in answer["totals"]} == {"USD": 40, "EUR": 5}
    assert (answer["unit_metric"], answer["per"]) == ("Cost per call", 2)
    assert {total["currency"]: total["unit_cost"] for total in other["totals"]} == {"USD": 80, "EUR": 10}
    assert "Overrides the saved arguments of unit metric 'Cost per call': per" in other["warnings"][0]
    page = signed_in(cast.viewer).get(answer["console_url"])
    assert page.status_code == 200
    assert 'value="2" selected' in page.content.decode()
    assert "Nearest: 'Cost per call'" in mcp_client.problem("queryUnitCost", unit_metric="Cost per cal")


@pytest.mark.usefixtures("payer")
def test_the_context_names_teams_and_unit_metrics(mcp_client: McpClient) -> None:
    answer = mcp_client.ask("getAccountContext")

    assert (answer["teams"], answer["unit_metrics"]) == (["Payments"], ["Cost per call"])
    assert "team" in [dimension["name"] for dimension in answer["dimensions"]]


def test_another_account_sees_none_of_it(cast: Cast, payer: Account) -> None:
    other_client = McpClient(mint(replace(cast, account=cast.other_account)))

    assert other_client.ask("listTeams")["teams"] == []
    assert other_client.ask("listUnitMetrics")["unit_metrics"] == []
    assert "unit_metric: 'Cost per call' does not exist" in other_client.problem(
        "queryUnitCost", unit_metric="Cost per call"
    )
