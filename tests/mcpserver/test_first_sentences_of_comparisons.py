"""First sentences of comparisons and forecasts: months of different lengths, a base close to zero, few days of history."""

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

YESTERDAY = date(2026, 3, 19)
OF_REQUESTS = {"usage_metric": "requests"}


def add_days(account: Account, first: date, **columns: Any) -> None:
    """Add a source with 10 a day from a day to yesterday."""
    lines = [cost(day, 10, **columns) for day in days(first, YESTERDAY)]
    add_source(account, lines, name=f"Bill {columns}")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("querySpend", {"compare_to": "previous_period"}),
        ("queryUnitCost", {"compare_to": "previous_period", **OF_REQUESTS}),
        ("explainSpendChange", {}),
    ],
)
def test_a_comparison_of_february_and_january_names_their_days(
    acme: Account, mcp_client: McpClient, tool: str, arguments: dict[str, Any]
) -> None:
    add_days(acme, date(2026, 1, 1))
    add_usage(acme, [event(day, "globex", 5) for day in days(date(2026, 1, 1), YESTERDAY)])

    assert "; 28 days compared with 31" in summary_of(mcp_client, tool, period="last_month", **arguments)
    assert "compared with" not in summary_of(mcp_client, tool, period="month_to_date", **arguments)


def test_a_forecast_names_the_length_of_a_shorter_month_before(acme: Account, mcp_client: McpClient) -> None:
    add_days(acme, date(2025, 12, 1))

    assert "10.7 % more than the 28 days before" in summary_of(mcp_client, "forecastSpend")
    assert "the period before" not in summary_of(mcp_client, "forecastSpend")


def test_a_forecast_from_few_days_says_so_first(acme: Account, mcp_client: McpClient) -> None:
    add_days(acme, date(2026, 2, 20))

    assert "; from only 28 days of history" in summary_of(mcp_client, "forecastSpend")


def test_a_forecast_names_the_cost_of_a_currency_that_cannot_be_forecast(
    acme: Account, mcp_client: McpClient
) -> None:
    add_days(acme, date(2025, 12, 1))
    add_days(acme, date(2026, 3, 10), currency="EUR")

    sentence = summary_of(mcp_client, "forecastSpend")

    assert (
        "; not forecast: 100.00 EUR spent so far (a forecast needs at least 14 days with data; the history has 10 days)"
        in sentence
    )


def test_a_change_from_almost_nothing_has_the_earlier_amount_instead_of_a_percentage(
    acme: Account, mcp_client: McpClient
) -> None:
    amounts = {day: "10" if day >= MARCH_TO_DATE[0] else "0.01" for day in days(date(2026, 2, 1), YESTERDAY)}
    add_source(acme, [cost(day, amount) for day, amount in amounts.items()])
    add_usage(acme, [event(day, "globex", amount) for day, amount in amounts.items()])

    change = summary_of(mcp_client, "explainSpendChange", period="month_to_date")
    usage = summary_of(mcp_client, "queryUsage", period="month_to_date", compare_to="previous_period")

    assert "spent 189.81 USD more (0.19 USD before)" in change
    assert " 190 after 0.19 vs. 2026-02-01 to 2026-02-19" in usage
    assert "%" not in f"{change.partition('; most moved')[0]}{usage}"
