"""explainSpendChange, called over MCP with a key."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint

FIRST = date(2026, 1, 1)
MONTHS = {
    "start_date": "2026-02-01",
    "end_date": "2026-02-28",
    "previous_start_date": "2026-01-01",
    "previous_end_date": "2026-01-31",
}


@pytest.fixture
def account_with_changes(cast: Cast) -> Account:
    """Two months of 120 services with long names, each with its own change in two currencies."""
    lines = [
        cost(
            FIRST + timedelta(days=day),
            number + 1 if day < 31 else 2 * number + 1,
            service=f"A service with a rather long name, which is number {number:03}",
            usage_type=f"A usage type with a long name, number {number:03}",
            currency="USD" if number % 2 else "EUR",
        )
        for number in range(120)
        for day in range(59)
    ]
    with account_scope(cast.account):
        add_source(cast.account, lines)
    return cast.account


def test_a_large_answer_lists_fewer_moves_and_still_adds_up(
    cast: Cast, account_with_changes: Account
) -> None:
    content = McpClient(mint(cast)).ask("explainSpendChange", **MONTHS, limit=30)

    for total in content["totals"]:
        moves = [move for move in content["moves"] if move["currency"] == total["currency"]]
        assert sum(move["change"] for move in moves) == pytest.approx(total["change"])
    assert (
        "in the driver other. Raise limit, filter, or group by a coarser dimension." in content["truncated"]
    )


def test_the_link_opens_the_page_with_the_same_question(cast: Cast, account_with_changes: Account) -> None:
    arguments = {
        **MONTHS,
        "group_by": ["service"],
        "filters": [{"dimension": "service", "op": "contains", "values": ["00"]}],
    }

    url = urlsplit(McpClient(mint(cast)).ask("explainSpendChange", **arguments)["console_url"])
    assert url.path == "/a/acme/spend-change/"
    assert parse_qs(url.query)["f0v"] == ["00"]
    assert parse_qs(url.query)["previous_start_date"] == ["2026-01-01"]


def test_a_misspelt_dimension_is_answered_with_the_nearest(cast: Cast, account_with_changes: Account) -> None:
    assert "service" in McpClient(mint(cast)).problem("explainSpendChange", **MONTHS, group_by=["servce"])
