"""Answers of several tools: each case misled an assistant once; on a small made-up account, its figures added up by hand."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal

from accounts.models import Account
from finops.costs.models import CostSource
from finops.lib import clock
from tests.factories.anomalies import add_anomaly
from tests.factories.costs import Line, add_source, cost
from tests.mcpserver.answers.questions import WEEK
from tests.mcpserver.mcp_client import McpClient


def days(count: int) -> list[date]:
    """So many days, the last one yesterday."""
    return [clock.today() - timedelta(days=back) for back in range(count, 0, -1)]


def test_below_zero_the_largest_by_size_stands_with_its_sign(acme: Account, writer: McpClient) -> None:
    day = clock.today() - timedelta(days=2)
    add_source(
        acme,
        [
            cost(day, 5, service="Claude API"),
            cost(day, 90, service="Compute"),
            cost(day, -400, service="Compute credits", charge_category="Credit"),
            cost(day, 3, service="Mail", currency="EUR"),
        ],
    )

    summary = writer.ask("querySpend", **WEEK, group_by=["service"])["summary"]

    assert "the largest parts are 'Compute credits' (-400.00 USD) and 'Compute' (90.00 USD)" in summary
    assert "most of EUR on 'Mail' (100.0 %)" in summary
    assert "most of USD" not in summary


def an_anomaly(account: Account, source: CostSource, service: str, impact: int, at: date) -> None:
    add_anomaly(
        account,
        source,
        key=f"anom_{service}",
        value=service,
        currency="USD",
        kind="spike",
        severity="high",
        first_day=at,
        last_day=at,
        actual=Decimal(impact + 10),
        expected=Decimal(10),
        impact=Decimal(impact),
        month_end_impact=Decimal(impact),
    )


def test_beside_a_filtered_change_stand_anomalies_of_what_the_filters_hold(
    acme: Account, writer: McpClient
) -> None:
    def day_of(day: date, spike: bool) -> list[Line]:
        more = 90 if spike else 0
        return [
            cost(day, 10 + more, service="Virtual Machines", provider="Azure", region="westeurope"),
            cost(day, 8 + more, service="EC2", provider="AWS", region="eu-west-1"),
            cost(day, 2, service="EC2", provider="AWS", region="us-east-1"),
        ]

    spiked = clock.today() - timedelta(days=3)
    source = add_source(acme, [line for day in days(60) for line in day_of(day, day == spiked)])
    add_source(acme, [cost(spiked, 1, service="Maps", provider="Google")], name="Google bill")
    an_anomaly(acme, source, "Virtual Machines", 90, spiked)
    an_anomaly(acme, source, "EC2", 90, spiked)

    def related_anomalies(**filters: str) -> list[str]:
        filter_list = [{"dimension": name, "values": [value]} for name, value in filters.items()]
        answer = writer.ask("explainSpendChange", period="last_7_days", filters=filter_list)
        return [re.split(" of (?!source)", each["what"])[0] for each in answer["beside"]]

    assert sorted(related_anomalies()) == [
        "EC2",
        "First cost lines of source 'Google bill': all",
        "Virtual Machines",
    ]
    assert related_anomalies(provider="AWS") == ["EC2"]
    assert related_anomalies(region="eu-west-1") == ["EC2"]
    assert related_anomalies(region="us-east-1") == []
    assert related_anomalies(provider="Google") == ["First cost lines of source 'Google bill': all"]


def test_a_budget_is_in_whole_currency_units(acme: Account, writer: McpClient) -> None:
    tools = {tool["name"]: tool for tool in writer.result("tools/list")["tools"]}
    description = tools["create_budget"]["inputSchema"]["properties"]["amount"]["description"]

    created = writer.ask("create_budget", name="Core", amount="1500.50", currency="USD")

    assert "whole currency units: 1500.50 is 1,500.50 USD" in description
    assert created["budget"]["amount"] == 1500.5


def test_an_existing_object_is_named_with_the_page_that_changes_it(acme: Account, writer: McpClient) -> None:
    page = "http://127.0.0.1:8000/a/acme"
    budget = writer.ask("create_budget", name="Core", amount=100, currency="USD")["budget"]["id"]
    board = writer.ask("create_dashboard", name="Weekly")["dashboard"]["id"]

    problem = writer.problem("create_budget", name="core", amount=200, currency="USD")
    dashboard_problem = writer.problem("create_dashboard", name="weekly")
    unknown = writer.error("tools/call", {"name": "update_budget", "arguments": {}})
    other = writer.error("tools/call", {"name": "rename_customer", "arguments": {}})

    assert f"already exists with id {budget}" in problem
    assert problem.endswith(f"Its page: {page}/budgets/{budget}/")
    assert dashboard_problem.endswith(f"Its page: {page}/dashboards/{board}/")
    assert unknown["message"].endswith(f"Members change this in the console: {page}/budgets/")
    assert other["message"].endswith(f"in the console: {page}/")


def test_group_by_project_says_what_it_was_taken_for(acme: Account, writer: McpClient) -> None:
    add_source(
        acme, [cost(clock.today() - timedelta(days=2), 5, account_id="p-1", tags={"project": "apollo"})]
    )

    answer = writer.ask("querySpend", **WEEK, group_by=["project"])

    assert answer["group_by"] == ["account"]
    assert any(
        "'project' was interpreted as account: " in each and "tag:project is the tag" in each
        for each in answer["warnings"]
    )
