"""First sentences of changes, forecasts, unit costs, simulations, commitments and invoices: charge categories that do not
count, filter values without cost, sources that stopped, and incomplete days."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from tests.factories.bills import Bills, usage
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON, at, days
from tests.factories.usage import add_usage, event
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient

COMPUTE_AND_QUANTUM = [{"dimension": "service", "values": ["Compute", "Quantum"]}]
NO_QUANTUM = "; no cost on these days has service 'Quantum'"


def add_usage_and_tax(account: Account) -> None:
    """10 USD of usage a day, and taxes of 40 USD in February and 50 USD in March; an event a day."""
    every = days(date(2025, 12, 1), date(2026, 3, 19))
    taxes = [
        cost(day, amount, charge_category="Tax")
        for day, amount in ((date(2026, 2, 1), 40), (date(2026, 3, 1), 50))
    ]
    add_source(account, [*(cost(day, 10, service="Compute") for day in every), *taxes])
    add_usage(account, [event(day, "globex", 5) for day in MARCH_TO_DATE])


def test_a_change_names_the_charge_categories_left_out_on_both_sides(
    acme: Account, mcp_client: McpClient
) -> None:
    add_usage_and_tax(acme)

    sentence = summary_of(
        mcp_client, "explainSpendChange", period="month_to_date", charge_categories=["Usage"]
    )

    assert (
        "(billed, Usage charge categories, without 50.00 USD of Tax now and without 40.00 USD of Tax before)"
        in sentence
    )
    assert "without" not in summary_of(mcp_client, "explainSpendChange", period="month_to_date")


def test_a_forecast_names_the_charge_categories_left_out_so_far_or_before(
    acme: Account, mcp_client: McpClient
) -> None:
    add_usage_and_tax(acme)
    usage_only = {"charge_categories": ["Usage"]}

    month = summary_of(mcp_client, "forecastSpend", **usage_only)
    ahead = summary_of(mcp_client, "forecastSpend", period="next_days", days=30, **usage_only)

    assert "(amortized, Usage charge categories, without 50.00 USD of Tax so far)" in month
    assert "Usage charge categories, without 50.00 USD of Tax in the period before)" in ahead
    assert "without" not in summary_of(mcp_client, "forecastSpend")


def test_a_unit_cost_names_the_charge_categories_left_out(acme: Account, mcp_client: McpClient) -> None:
    add_usage_and_tax(acme)
    of_march = {"period": "month_to_date", "usage_metric": "requests"}

    sentence = summary_of(mcp_client, "queryUnitCost", **of_march, charge_categories=["Usage"])

    assert "(amortized, Usage charge categories, without 50.00 USD of Tax): 190.00 USD" in sentence
    assert "without" not in summary_of(mcp_client, "queryUnitCost", **of_march)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("explainSpendChange", {"period": "month_to_date"}),
        ("forecastSpend", {}),
        ("queryUnitCost", {"period": "month_to_date", "usage_metric": "requests"}),
        ("simulateCost", {"period": "month_to_date", "growth": [{"percent": "10"}]}),
        ("getCommitmentUtilization", {"period": "month_to_date"}),
    ],
)
def test_a_filter_value_without_cost_is_in_the_first_sentence(
    acme: Account, mcp_client: McpClient, tool: str, arguments: dict[str, Any]
) -> None:
    add_usage_and_tax(acme)

    assert NO_QUANTUM in summary_of(mcp_client, tool, **arguments, filters=COMPUTE_AND_QUANTUM)
    assert NO_QUANTUM not in summary_of(
        mcp_client, tool, **arguments, filters=[COMPUTE_AND_QUANTUM[0] | {"values": ["Compute"]}]
    )


def test_the_incomplete_part_of_spend_is_next_to_its_amount(bills: Bills, mcp_client: McpClient) -> None:
    bills.bring(
        "AWS", usage({"Compute": lambda _day: 10}, date(2026, 2, 1), date(2026, 3, 19)), on=NOON.date()
    )

    with at(NOON.date()), account_scope(bills.account):
        sentence = summary_of(mcp_client, "querySpend", period="month_to_date", filters=COMPUTE_AND_QUANTUM)

    assert "charge categories), of which 20.00 USD on 2026-03-18 to 2026-03-19 is incomplete" in sentence
    assert NO_QUANTUM in sentence


def bring_a_source_that_stopped(bills: Bills) -> None:
    """AWS in USD to the 19th, complete to the 17th; Alibaba in CNY to the 5th."""
    first = date(2025, 12, 1)
    bills.bring("AWS", usage({"Compute": lambda _day: 10}, first, date(2026, 3, 19)), on=NOON.date())
    alibaba = usage({"ECS": lambda _day: 50}, first, date(2026, 3, 5), BillingCurrency="CNY")
    bills.bring("Alibaba", alibaba, on=date(2026, 3, 6))


def test_a_forecast_of_a_currency_whose_source_stopped_says_that_it_has_no_more_cost(
    bills: Bills, mcp_client: McpClient
) -> None:
    bring_a_source_that_stopped(bills)
    stopped = "'Alibaba' has no cost lines after 2026-03-05"

    with at(NOON.date()), account_scope(bills.account):
        month = summary_of(mcp_client, "forecastSpend")
        ahead = summary_of(mcp_client, "forecastSpend", period="next_days", days=10)
        of_aws = summary_of(
            mcp_client, "forecastSpend", filters=[{"dimension": "service", "values": ["Compute"]}]
        )

    assert "and 250.00 CNY (" in month
    assert "'Alibaba' from 2026-03-04 (no cost lines after 2026-03-05)" in month
    assert "; days without lines count as 0" in month
    assert month.count("Alibaba") == ahead.count("Alibaba") == 1
    assert "and 0.00 CNY (" in ahead
    assert f"; {stopped}; days without lines count as 0" in ahead
    assert "Alibaba" not in of_aws


def test_a_simulation_names_incomplete_days_once_and_sources_that_stopped(
    bills: Bills, mcp_client: McpClient
) -> None:
    bring_a_source_that_stopped(bills)

    with at(NOON.date()), account_scope(bills.account):
        sentence = summary_of(mcp_client, "simulateCost", period="month_to_date", growth=[{"percent": "10"}])

    assert (
        "of which 100.00 CNY and 20.00 USD are incomplete: 'AWS' from 2026-03-18 and 'Alibaba' from 2026-03-04 "
        "(no cost lines after 2026-03-05)" in sentence
    )
    assert sentence.count("incomplete") == 1
    assert sentence.count("Alibaba") == 1


def test_the_utilization_of_a_running_month_names_its_incomplete_cost(
    bills: Bills, mcp_client: McpClient
) -> None:
    columns = {
        "CommitmentDiscountId": "sp-1",
        "CommitmentDiscountType": "Savings Plan",
        "CommitmentDiscountCategory": "Spend",
        "CommitmentDiscountStatus": "Used",
        "PricingCategory": "Committed",
    }
    covered = usage({"Compute": lambda _day: 10}, date(2026, 3, 1), date(2026, 3, 19), **columns)
    bills.bring("AWS", covered, on=NOON.date())

    with at(NOON.date()), account_scope(bills.account):
        sentence = summary_of(mcp_client, "getCommitmentUtilization", period="month_to_date")

    assert "190.00 USD" in sentence
    assert "; 20.00 USD on 2026-03-18 to 2026-03-19 is incomplete" in sentence


def test_invoices_of_a_running_month_say_that_its_lines_are_incomplete(
    bills: Bills, mcp_client: McpClient
) -> None:
    bills.bring(
        "AWS", usage({"Compute": lambda _day: 10}, date(2026, 2, 1), date(2026, 3, 19)), on=NOON.date()
    )

    with at(NOON.date()), account_scope(bills.account):
        newest = summary_of(mcp_client, "getInvoiceReconciliation")
        february = summary_of(mcp_client, "getInvoiceReconciliation", month="2026-02")

    assert (
        "470.00 USD on no invoice; 2026-03 is incomplete, with lines of 190.00 USD: cost data is complete through "
        "2026-03-17" in newest
    )
    assert "incomplete" not in february
