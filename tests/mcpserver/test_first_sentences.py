"""First sentences that are complete without the rest: days without bills, filters, currencies without a rate,
queries without data."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.rules import Copy, Rule
from finops.allocation.services.cost_tags import create_cost_tag
from finops.unitcosts.models import CustomerKey
from tests.cast import Cast
from tests.factories.bills import Bills, line, usage
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON, at, days
from tests.factories.usage import add_usage, event
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient


def add_march(account: Account) -> None:
    """10 USD a day from 1 to 19 March; today is the 20th."""
    add_source(account, [cost(day, 10) for day in MARCH_TO_DATE])


@pytest.mark.parametrize("tool", ["querySpend", "getCommitmentUtilization", "simulateCost", "queryUnitCost"])
def test_days_without_bills_are_in_the_first_sentence(
    acme: Account, mcp_client: McpClient, tool: str
) -> None:
    add_march(acme)
    add_usage(acme, [event(day, "globex", 5) for day in MARCH_TO_DATE])
    metric = {"usage_metric": "requests"} if tool == "queryUnitCost" else {}

    ahead = summary_of(mcp_client, tool, start_date="2026-03-01", end_date="2026-03-31", **metric)
    before = summary_of(mcp_client, tool, period="last_30_days", **metric)

    assert "bills cover 19 of 31 days" in ahead
    assert "bills cover 19 of 30 days" in before


def test_the_forecast_of_a_year_names_the_days_without_bills(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)

    assert "bills cover 19 of 79 days" in summary_of(mcp_client, "forecastSpend", period="year")


def test_covered_days_and_the_running_day_need_no_clause(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)

    assert "bills cover" not in summary_of(mcp_client, "querySpend", period="month_to_date")
    assert "bills cover" not in summary_of(mcp_client, "querySpend", period="last_7_days")


def test_a_gap_between_two_bills_counts_as_days_without_bills(acme: Account, mcp_client: McpClient) -> None:
    add_source(acme, [cost(date(2025, 9, day), 1) for day in range(1, 31)], name="Old")
    add_source(acme, [cost(day, 10) for day in MARCH_TO_DATE], name="New")

    sentence = summary_of(mcp_client, "querySpend", start_date="2025-09-01", end_date="2026-03-19")

    assert "spent 220.00 USD" in sentence
    assert "bills cover 49 of 200 days" in sentence


def test_days_that_no_bill_covers_are_no_days_without_cost(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)

    assert (
        summary_of(mcp_client, "querySpend", period="today")
        == "'Acme' has no cost data from 2026-03-20 to 2026-03-20."
    )
    assert "no bill covers these days" in summary_of(mcp_client, "getCommitmentUtilization", period="today")


def test_a_comparison_that_is_not_made_says_so_first(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)

    last_year = summary_of(mcp_client, "querySpend", period="month_to_date", compare_to="previous_year")

    assert "; not compared: the account has no data for 2025-03-01 to 2025-03-19" in last_year


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("querySpend", {"period": "month_to_date"}),
        ("queryCostTag", {"cost_tag": "team", "period": "month_to_date"}),
        ("forecastSpend", {}),
    ],
)
def test_amounts_that_no_rate_converts_are_not_left_out_of_themselves(
    acme: Account, cast: Cast, mcp_client: McpClient, tool: str, arguments: dict[str, Any]
) -> None:
    add_march(acme)
    create_cost_tag(account=acme, actor=cast.actor, key="team", rules=[Rule(copy=Copy(keys=("team",)))])

    answer = mcp_client.ask(tool, **arguments, display_currency="JPY")

    assert "not converted: there is no exchange rate to JPY" in answer["summary"]
    assert "without 190.00 USD" not in answer["summary"]
    assert "No exchange rate to JPY: 190.00 USD. Not converted." in answer["warnings"]


def test_a_filtered_change_says_that_it_is_filtered(acme: Account, mcp_client: McpClient) -> None:
    add_source(acme, [cost(day, 10, service=name) for day in MARCH_TO_DATE for name in ("Compute", "Mail")])

    sentence = summary_of(
        mcp_client,
        "explainSpendChange",
        period="last_7_days",
        filters=[{"dimension": "service", "values": ["Mail"]}],
    )

    assert "as much (70.00 USD) within the filters from 2026-03-13 to 2026-03-19" in sentence


def test_the_customers_of_a_unit_cost_are_named(acme: Account, mcp_client: McpClient) -> None:
    add_source(
        acme,
        [cost(day, 10, tags={"customer": name}) for day in MARCH_TO_DATE for name in ("globex", "umbrella")],
    )
    add_usage(acme, [event(day, "globex", 5) for day in MARCH_TO_DATE])
    CustomerKey.objects.create(account=acme, dimension="tag:customer")

    sentence = summary_of(
        mcp_client, "queryUnitCost", usage_metric="requests", period="last_7_days", customers=["globex"]
    )

    assert "; only customer 'globex'): 70.00 USD ÷ 35 'requests' = 2.00 USD for each" in sentence


def test_cost_and_usage_of_different_days_are_in_the_first_sentence(
    acme: Account, mcp_client: McpClient
) -> None:
    add_march(acme)
    add_usage(acme, [event(date(2026, 3, 18), "globex", 5), event(date(2026, 3, 19), "globex", 5)])

    sentence = summary_of(mcp_client, "queryUnitCost", usage_metric="requests", period="last_7_days")

    assert "70.00 USD ÷ 10 'requests' = 7.00 USD for each" in sentence
    assert "; cost has data on 7 and usage on 2 of 7 days" in sentence


def test_a_search_without_a_match_does_not_say_that_there_are_no_splits(
    acme: Account, mcp_client: McpClient
) -> None:
    assert summary_of(mcp_client, "listSharedCostSplits", search="zzz") == (
        "'Acme' has no shared-cost split that matches 'zzz'."
    )


def test_one_bill_of_a_day_ago_is_data_without_a_complete_day(bills: Bills, mcp_client: McpClient) -> None:
    bills.bring("AWS", [line(date(2026, 3, 19), 12)], on=date(2026, 3, 20))

    with at(date(2026, 3, 20)), account_scope(bills.account):
        assert "has cost data from 2026-03-19, but no complete day yet" in summary_of(
            mcp_client, "getAccountContext"
        )
        assert "no day of cost data is complete yet" in summary_of(mcp_client, "getDataHealth")
        assert "cannot be forecast: No day of cost data is complete yet." in summary_of(
            mcp_client, "forecastSpend"
        )
        assert ", of which 12.00 USD on 2026-03-19 is incomplete; bills cover 1 of 30 days" in summary_of(
            mcp_client, "querySpend"
        )


def test_an_account_without_bills_has_no_judgement_of_its_bills(acme: Account, mcp_client: McpClient) -> None:
    assert "it has no complete day of cost data" in summary_of(mcp_client, "listSavingsRecommendations")
    assert (
        summary_of(mcp_client, "listAnomalies")
        == "'Acme' has no open anomaly; anomaly detection has not run yet."
    )
    assert summary_of(mcp_client, "listTagRecommendations") == (
        "'Acme' has no cost with tags in the last 30 days with data."
    )


def test_late_bills_are_incomplete_in_the_sentence_of_a_cost_tag(bills: Bills, mcp_client: McpClient) -> None:
    lines = usage({"Compute": lambda _day: 10}, date(2026, 3, 1), NOON.date())
    bills.bring("AWS", lines, on=NOON.date())
    actor, rules = bills.cast.actor, [Rule(copy=Copy(keys=("team",)))]

    with at(NOON.date()), account_scope(bills.account):
        create_cost_tag(account=bills.account, actor=actor, key="team", rules=rules)
        sentence = summary_of(mcp_client, "queryCostTag", cost_tag="team", period="month_to_date")

    assert ", of which 30.00 USD on 2026-03-18 to 2026-03-20 is incomplete" in sentence


def test_a_simulation_without_assumptions_says_that_nothing_changes(
    acme: Account, mcp_client: McpClient
) -> None:
    add_march(acme)

    sentence = summary_of(mcp_client, "simulateCost", period="month_to_date")

    assert (
        sentence
        == "2026-03-01 to 2026-03-20 cost 190.00 USD amortized; no assumption is set, so nothing changes."
    )


@pytest.mark.parametrize("tool", ["querySpend", "explainSpendChange", "forecastSpend"])
@pytest.mark.parametrize(
    ("dimension", "clause"),
    [
        ("tag:enviroment", "; no cost has tag key 'enviroment'"),
        ("x_Custom", "; no cost has column 'x_Custom'"),
        ("team", "; no team key is set"),
    ],
)
def test_a_group_that_no_line_can_have_is_listed_with_its_absence(
    acme: Account, mcp_client: McpClient, tool: str, dimension: str, clause: str
) -> None:
    """'100 % on (untagged)' alone reads as if nobody had tagged anything."""
    every_day = days(date(2026, 1, 1), date(2026, 3, 19))
    add_source(acme, [cost(day, 10 + day.month, tags={"environment": "prod"}) for day in every_day])
    period = "month" if tool == "forecastSpend" else "month_to_date"

    sentence = summary_of(mcp_client, tool, period=period, group_by=[dimension])

    assert clause in sentence
    assert "no cost has tag key" not in summary_of(
        mcp_client, tool, period=period, group_by=["tag:environment"]
    )


def test_a_filter_on_a_tag_key_that_no_line_has_says_so_first(acme: Account, mcp_client: McpClient) -> None:
    add_march(acme)
    filters = [{"dimension": "tag:env", "values": ["prod"]}]

    sentence = summary_of(mcp_client, "querySpend", period="month_to_date", filters=filters)

    assert sentence.startswith(
        "No cost line matches the filters from 2026-03-01 to 2026-03-20; no cost has tag key 'env'"
    )
    assert "no cost has tag key 'env'" in summary_of(mcp_client, "listDimensionValues", dimension="tag:env")
