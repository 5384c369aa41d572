"""First sentences where sources are complete to different days: which source is late, and which cost that concerns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from accounts.scoping import account_scope
from tests.factories.bills import Bills, usage
from tests.factories.budgets import create_budget
from tests.factories.days import NOON, at
from tests.factories.usage import add_usage, event
from tests.mcpserver.first_sentences import MARCH_TO_DATE, summary_of
from tests.mcpserver.mcp_client import McpClient

FIRST = date(2025, 12, 1)
OF_AWS = [{"dimension": "service", "values": ["Compute"]}]
OF_GCP = [{"dimension": "service", "values": ["Run"]}]
NOT_GCP = [{"dimension": "source", "op": "not_in", "values": ["GCP"]}]


def bring(bills: Bills, name: str, service: str, amount: int, last: date) -> None:
    """Bring a bill of the same amount each day; its last two days are incomplete."""
    lines = usage({service: lambda _day: amount}, FIRST, last)
    bills.bring(name, lines, on=min(NOON.date(), date.fromordinal(last.toordinal() + 1)))


@pytest.fixture
def today(bills: Bills) -> Iterator[Bills]:
    """AWS has lines to 19 March and is complete to the 17th; today is the 20th."""
    bring(bills, "AWS", "Compute", 10, date(2026, 3, 19))
    with at(NOON.date()), account_scope(bills.account):
        yield bills


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("querySpend", {"period": "month_to_date"}),
        ("queryUnitCost", {"period": "month_to_date", "usage_metric": "requests"}),
        ("simulateCost", {"period": "month_to_date", "growth": [{"percent": "10"}]}),
        ("forecastSpend", {}),
    ],
)
def test_a_source_that_stopped_is_named_only_if_the_filters_can_select_its_cost(
    today: Bills, mcp_client: McpClient, tool: str, arguments: dict[str, Any]
) -> None:
    bring(today, "GCP", "Run", 7, date(2026, 3, 5))
    add_usage(today.account, [event(day, "globex", 5) for day in MARCH_TO_DATE])

    whole = summary_of(mcp_client, tool, **arguments)
    of_gcp = summary_of(mcp_client, tool, **arguments, filters=OF_GCP)

    assert "'GCP' from 2026-03-04 (no cost lines after 2026-03-05)" in whole
    assert "14.00 USD on 2026-03-04 to 2026-03-05 is incomplete; 'GCP' has no cost lines after" in of_gcp
    assert whole.count("GCP") == of_gcp.count("GCP") == 1
    for filters in (OF_AWS, NOT_GCP):
        sentence = summary_of(mcp_client, tool, **arguments, filters=filters)
        assert "GCP" not in sentence
        assert "20.00 USD on 2026-03-18 to 2026-03-19 is incomplete" in sentence


def test_sources_that_are_complete_to_different_days_are_named_with_their_own(
    today: Bills, mcp_client: McpClient
) -> None:
    bring(today, "GCP", "Run", 7, date(2026, 3, 5))

    sentence = summary_of(mcp_client, "querySpend", period="month_to_date")

    assert (
        ", of which 34.00 USD is incomplete: 'AWS' from 2026-03-18 and 'GCP' from 2026-03-04 (no cost lines after "
        "2026-03-05)" in sentence
    )


def test_three_of_many_sources_that_are_complete_to_different_days_are_named(
    today: Bills, mcp_client: McpClient
) -> None:
    for day in range(11, 15):
        bring(today, f"Late {day}", "Run", 1, date(2026, 3, day))

    sentence = summary_of(mcp_client, "querySpend", period="month_to_date")

    assert ", of which 28.00 USD is incomplete: " in sentence
    assert " and 2 more" in sentence


def test_a_late_source_is_named_next_to_the_amount_on_its_incomplete_days(
    today: Bills, mcp_client: McpClient
) -> None:
    bring(today, "GCP", "Run", 7, date(2026, 3, 16))

    whole = summary_of(mcp_client, "querySpend", start_date="2026-03-01", end_date="2026-03-16")
    running = summary_of(mcp_client, "querySpend", period="month_to_date")

    assert ", of which 14.00 USD of 'GCP' on 2026-03-15 to 2026-03-16 is incomplete" in whole
    assert "34.00 USD is incomplete: 'AWS' from 2026-03-18 and 'GCP' from 2026-03-15" in running
    changed = summary_of(
        mcp_client, "explainSpendChange", start_date="2026-03-01", end_date="2026-03-16", filters=OF_GCP
    )
    assert "14.00 USD on 2026-03-15 to 2026-03-16 left out: incomplete" in changed


def test_a_budget_names_the_source_whose_days_are_incomplete(today: Bills, mcp_client: McpClient) -> None:
    bring(today, "GCP", "Run", 7, date(2026, 3, 16))
    create_budget(today.account, "Cloud", 1000)

    (budget,) = mcp_client.ask("listBudgets")["budgets"]

    assert (
        "34.00 USD of actual cost is incomplete: 'AWS' from 2026-03-18 and 'GCP' from 2026-03-15."
        in budget["status_reason"]
    )
