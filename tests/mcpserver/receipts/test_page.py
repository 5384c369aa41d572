"""The page Verify an answer: a receipt in, what it came to out; and for how long receipts and their bills stay."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.receipts.models import AnswerReceipt, AnswerState, ReceiptRetention
from finops.receipts.services import set_receipt_retention, sweep
from tests.cast import Cast, signed_in
from tests.factories.bills import Bills, line
from tests.factories.days import at
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.receipts.receipt_client import ask
from tests.pages import get_page, text_of

PAGE = "/a/acme/verify-answer/"
ASKED = date(2026, 10, 3)


@pytest.fixture
def answer(cast: Cast, tmp_path: Path, mcp_client: McpClient) -> dict[str, Any]:
    """Of September, which was restated since."""
    bills = Bills(cast, tmp_path)
    bills.bring("AWS", [line(date(2026, 9, 5), "100.10")], on=ASKED)
    with at(ASKED):
        answer = ask(mcp_client, start_date="2026-09-01", end_date="2026-09-30")
    bills.bring("AWS", [line(date(2026, 9, 5), "112.40")], on=date(2026, 10, 7))
    return answer


def test_a_viewer_verifies_an_answer_and_reads_what_was_restated(cast: Cast, answer: dict[str, Any]) -> None:
    with at(date(2026, 10, 20)):
        text = get_page(signed_in(cast.viewer), PAGE, receipt=answer["receipt"])

    assert "Same figures as on Oct 3 on that day's bills; current bills give others" in text
    assert "AWS September 2026 $100.10 $112.40 +$12.30" in text
    assert "totals amount USD 100.1 112.4" in text, text[text.index("Figures that") :]


def test_the_tool_leads_to_the_page(cast: Cast, mcp_client: McpClient, answer: dict[str, Any]) -> None:
    url = mcp_client.ask("verifyAnswer", receipt=answer["receipt"])["console_url"]

    assert url.endswith(f"{PAGE}?receipt={answer['receipt']}")


def test_a_receipt_of_another_account_is_unknown_at_its_field(cast: Cast, answer: dict[str, Any]) -> None:
    response = signed_in(cast.stranger).get("/a/elsewhere/verify-answer/", {"receipt": answer["receipt"]})

    assert f"unknown receipt {answer['receipt']}" in text_of(response, status=422)


def test_an_admin_sets_how_long_receipts_and_their_bills_stay(cast: Cast, answer: dict[str, Any]) -> None:
    admin = signed_in(cast.admin)

    response = admin.post(f"{PAGE}retention/", {"days": "200", "bill_days": "30"}, follow=True)

    assert "Receipts are now kept for 200 days." in text_of(response)
    with account_scope(cast.account):
        assert (ReceiptRetention.objects.get().days, ReceiptRetention.objects.get().bill_days) == (200, 30)
        entry = AuditEntry.objects.get(action="receipt_retention.change")
    assert entry.detail["to"] == {"days": 200, "bill_days": 30}


@pytest.mark.parametrize(
    ("days", "bill_days", "problem"),
    [
        ("6", "0", "Enter 7 to 400 days."),
        ("401", "0", "Enter 7 to 400 days."),
        ("90", "401", "Enter 0 to 400 days."),
        ("90", "-1", "Enter 0 to 400 days."),
        ("30", "31", "Keep receipts as long as bills."),
        ("x", "0", "Enter a whole number of days."),
    ],
)
def test_a_value_out_of_bounds_is_refused_at_its_field(
    cast: Cast, days: str, bill_days: str, problem: str
) -> None:
    response = signed_in(cast.admin).post(f"{PAGE}retention/", {"days": days, "bill_days": bill_days})

    assert problem in text_of(response, status=422)
    assert not ReceiptRetention.objects.unscoped().exists()


def test_a_member_sets_nothing(cast: Cast) -> None:
    response = signed_in(cast.member).post(f"{PAGE}retention/", {"days": "90", "bill_days": "1"})

    assert response.status_code == 403


def test_the_disk_that_replaced_bills_take_is_next_to_the_setting(cast: Cast, answer: dict[str, Any]) -> None:
    assert "Replaced bills now stored: 1 file, " in get_page(signed_in(cast.viewer), PAGE)


def test_receipts_go_by_age_each_account_by_its_own_days(cast: Cast, answer: dict[str, Any]) -> None:
    with at(date(2026, 12, 31)):
        assert sweep() == 0
    set_receipt_retention(account=cast.account, actor=cast.actor, days=100, bill_days=0)
    with at(date(2027, 1, 10)):
        assert sweep() == 0
    with at(date(2027, 1, 12)):
        assert sweep() == 1
    assert not AnswerReceipt.objects.unscoped().exists()
    assert not AnswerState.objects.unscoped().exists()
