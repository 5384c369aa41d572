"""queryUsage against an earlier period, and how many customers were active."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.factories.usage import event, push_events
from tests.mcpserver.mcp_client import McpClient, mint

TODAY = NOON.date()


@pytest.fixture
def mcp_client(cast: Cast) -> Iterator[McpClient]:
    with account_scope(cast.account), clock.frozen(NOON):
        yield McpClient(mint(cast))


@pytest.fixture
def usage_account(cast: Cast, mcp_client: McpClient) -> Account:
    """acme 10 a day in February and 20 in March, initech 4 a day in March alone, globex 6 once in February."""
    february = [date(2026, 2, 1) + timedelta(days=back) for back in range(28)]
    march = [date(2026, 3, 1) + timedelta(days=back) for back in range(20)]
    push_events(
        cast.account,
        [
            *(event(day, "acme", 10) for day in february),
            *(event(day, "acme", 20) for day in march),
            *(event(day, "initech", 4, dimensions={"region": "eu"}) for day in march),
            event(date(2026, 2, 3), "globex", 6),
        ],
    )
    return cast.account


def compare(mcp_client: McpClient, **arguments: Any) -> dict[str, Any]:
    return mcp_client.ask("queryUsage", usage_metric="requests", **arguments)


@pytest.mark.usefixtures("usage_account")
def test_a_month_to_date_is_compared_with_the_same_days_over_of_the_month_before(
    mcp_client: McpClient,
) -> None:
    answer = compare(mcp_client, period="month_to_date", group_by="customer", compare_to="previous_period")

    # 19 days are over: 19 * 24 against 19 * 10 + 6; today's 24 count in the quantity alone.
    assert answer["quantity"] == 20 * 24
    assert answer["change"] == {
        "current_quantity": 456,
        "previous_quantity": 196,
        "quantity_change": 260,
        "ratio": pytest.approx(260 / 196, abs=1e-6),
    }
    assert answer["comparison"] == {
        "compare_to": "previous_period",
        "start_date": "2026-03-01",
        "end_date": "2026-03-19",
        "previous_start_date": "2026-02-01",
        "previous_end_date": "2026-02-19",
        "previous_active_customers": 2,
    }
    assert answer["active_customers"] == 2
    changes = {row["value"]: row["change"] for row in answer["rows"]}
    assert (changes["acme"]["current_quantity"], changes["acme"]["previous_quantity"]) == (380, 190)
    assert (changes["initech"]["previous_quantity"], changes["initech"]["ratio"]) == (0, None)
    assert changes["initech"]["reason"] == "No usage in the previous period."
    assert "+132.7 % vs. 2026-02-01 to 2026-02-19; 2 customers active, 2 before" in answer["summary"]


@pytest.mark.usefixtures("usage_account")
def test_customers_are_counted_within_the_filters_whatever_groups(mcp_client: McpClient) -> None:
    assert compare(mcp_client, period="last_month")["active_customers"] == 2
    of_eu = {"filters": [{"dimension": "region", "values": ["EU"]}], "period": "month_to_date"}
    assert compare(mcp_client, **of_eu)["active_customers"] == 1
    assert compare(mcp_client, **of_eu, group_by="dimension:region")["active_customers"] == 1


@pytest.mark.usefixtures("usage_account")
def test_without_usage_before_or_days_over_a_change_is_null_with_the_reason(mcp_client: McpClient) -> None:
    before = compare(mcp_client, start_date="2026-02-01", end_date="2026-02-28", compare_to="previous_period")
    assert (before["change"]["ratio"], before["change"]["previous_quantity"]) == (None, None)
    assert before["change"]["reason"] == "No events of the metric in the previous period."

    today = compare(mcp_client, period="today", compare_to="previous_period")
    assert today["change"] is None
    assert "No complete day in the period to compare." in today["warnings"][0]


@pytest.mark.usefixtures("usage_account")
def test_a_metric_that_begins_within_the_earlier_days_has_no_change_but_the_reason(
    mcp_client: McpClient,
) -> None:
    answer = compare(mcp_client, start_date="2026-02-15", end_date="2026-03-14", compare_to="previous_period")

    assert (answer["change"]["current_quantity"], answer["change"]["ratio"]) == (14 * 10 + 14 * 24, None)
    assert "Change vs. 2026-01-18 to 2026-02-14 is unknown" in answer["summary"]
    assert "The metric's first event, of 2026-02-01, is within the previous period." in answer["summary"]


def test_days_without_events_on_one_side_are_said_next_to_the_change(
    cast: Cast, mcp_client: McpClient
) -> None:
    jobs = [date(2026, 1, 4), date(2026, 2, 5), date(2026, 2, 6), date(2026, 3, 2)]
    push_events(cast.account, [event(day, "acme", 5) for day in jobs])

    answer = compare(mcp_client, period="month_to_date", compare_to="previous_period")

    assert answer["change"]["ratio"] == -0.5
    assert (
        "-50.0 % vs. 2026-02-01 to 2026-02-19 (events on 1 of 19 days, previously on 2 of 19);"
        in answer["summary"]
    )


def test_without_days_it_is_the_last_30_as_in_questions_about_cost_or_today_when_pushing_has_just_begun(
    mcp_client: McpClient, cast: Cast
) -> None:
    push_events(cast.account, [event(TODAY, "acme", 5)])
    first = compare(mcp_client)
    assert (first["quantity"], first["period"]["start_date"]) == (5, "2026-03-20")
    assert "No events in the last 30 days, so this is today (incomplete)." in first["warnings"][0]

    push_events(
        cast.account,
        [event(TODAY - timedelta(days=30), "acme", 7), event(TODAY - timedelta(days=31), "acme", 9)],
    )
    later = compare(mcp_client)
    assert (later["quantity"], later["period"]["start_date"], later["period"]["end_date"]) == (
        7,
        "2026-02-18",
        "2026-03-19",
    )
