"""verifyAnswer of answers after shared-cost splits, and of unit cost, whose bill was restated since."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.allocation.services.splits import SplitDraft, create_split
from tests.cast import Cast
from tests.factories.bills import Bills, line
from tests.factories.days import at
from tests.factories.usage import add_usage, event
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.receipts.receipt_client import ask, verify

ASKED, VERIFIED = date(2026, 10, 3), date(2026, 10, 20)
SEPTEMBER = {"start_date": "2026-09-01", "end_date": "2026-09-30"}


@pytest.fixture
def bills(cast: Cast, tmp_path: Path) -> Bills:
    """September of two services, of which one is shared: 100 and 40."""
    bills = Bills(cast, tmp_path)
    bring(bills, "40", on=ASKED)
    return bills


def bring(bills: Bills, shared: str, *, on: date) -> None:

    lines = [line(date(2026, 9, 5), "100"), line(date(2026, 9, 6), shared, "Shared")]
    bills.bring("AWS", lines, on=on)


def figure(verified: dict[str, Any], name: str) -> list[tuple[Any, Any]]:
    return [(each["then"], each["now"]) for each in verified["figures"] if name in each["figure"]]


def test_a_receipt_proves_the_former_split_and_shows_the_current_one(
    cast: Cast, mcp_client: McpClient, bills: Bills
) -> None:
    draft = SplitDraft("Platform", "service", "Shared", "fixed", [("Compute", "100")])
    with at(ASKED):
        with account_scope(cast.account):
            create_split(account=cast.account, actor=cast.actor, draft=draft)
        answer = ask(mcp_client, **SEPTEMBER, group_by=["service"], splits="after")
    assert [row["amount"] for row in answer["rows"] if row["group"]["service"] == "Compute"] == [140]
    bring(bills, "52.30", on=date(2026, 10, 7))

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "restated"
    assert "'AWS' restated 2026-09 by +12.30 USD" in verified["summary"]
    assert (140, 152.3) in figure(verified, "Compute amount")


def test_a_split_that_was_changed_since_is_named(cast: Cast, mcp_client: McpClient, bills: Bills) -> None:
    with at(ASKED):
        answer = ask(mcp_client, **SEPTEMBER, group_by=["service"], splits="after")
    with at(date(2026, 10, 7)), account_scope(cast.account):
        draft = SplitDraft("Platform", "service", "Shared", "fixed", [("Compute", "100")])
        create_split(account=cast.account, actor=cast.actor, draft=draft)

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "different"
    assert "shared-cost split 'Platform' changed on 2026-10-07" in verified["summary"]


def test_a_unit_cost_of_then_is_proven_and_usage_is_said_to_count_as_it_is_today(
    cast: Cast, mcp_client: McpClient, bills: Bills
) -> None:
    with at(ASKED):
        with account_scope(cast.account):
            add_usage(cast.account, [event(date(2026, 9, day), "globex", 10) for day in range(1, 31)])
        answer = ask(mcp_client, "queryUnitCost", **SEPTEMBER, usage_metric="requests")
    bring(bills, "70", on=date(2026, 10, 7))

    with at(VERIFIED):
        verified = verify(mcp_client, answer)

    assert verified["outcome"] == "restated"
    assert "'AWS' restated 2026-09 by +30.00 USD" in verified["summary"]
    assert any("Usage events count as they are today" in each for each in verified["warnings"])
    assert (140, 170) in figure(verified, "cost")
