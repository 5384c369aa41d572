"""Receipts of answers: which answers have one, who may verify it, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.keys import mint_mcp_key
from accounts.scoping import account_scope
from finops.cost_access.creations import limit_key
from finops.cost_access.services import change_limit, create_limit
from finops.costs.spend_query import CostFilter
from finops.receipts.models import AnswerReceipt, AnswerState
from tests.cast import Cast
from tests.factories.bills import Bills
from tests.factories.days import at
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.receipts.receipt_client import ASKED, SEPTEMBER, VERIFIED, ask, september, verify


def test_equal_answers_of_a_day_have_one_receipt(
    cast: Cast, mcp_client: McpClient, first_answer: dict[str, Any]
) -> None:
    with at(ASKED, hour=18):
        again = ask(mcp_client, **SEPTEMBER)
    with at(date(2026, 10, 4)):
        next_day = ask(mcp_client, **SEPTEMBER)

    assert again["receipt"] == first_answer["receipt"] != next_day["receipt"]
    with account_scope(cast.account):
        assert AnswerReceipt.objects.count() == 2


def test_an_equal_answer_after_a_change_of_the_secret_key_has_a_receipt_of_the_new_key(
    mcp_client: McpClient, first_answer: dict[str, Any], settings: Any
) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret key, of fifty characters or a little more"

    with at(ASKED, hour=18):
        again = ask(mcp_client, **SEPTEMBER)

        assert again["receipt"] != first_answer["receipt"]
        assert verify(mcp_client, again)["outcome"] == "same"
        assert verify(mcp_client, first_answer)["outcome"] == "same"


def test_a_stranger_reads_the_same_as_of_a_receipt_that_does_not_exist(
    cast: Cast, first_answer: dict[str, Any]
) -> None:
    _row, key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="theirs", scope="read")
    other = "".join("B" if letter == "C" else letter for letter in first_answer["receipt"][:-1]) + "Z"

    of_acme = McpClient(key).problem("verifyAnswer", receipt=first_answer["receipt"])
    of_nobody = McpClient(key).problem("verifyAnswer", receipt=other)

    assert of_acme.replace(first_answer["receipt"], "…") == of_nobody.replace(other, "…")
    assert of_acme.startswith(f"receipt: unknown receipt {first_answer['receipt']}. ")


def test_a_limited_reader_verifies_receipts_of_her_limit_alone(
    cast: Cast, bills: Bills, mcp_client: McpClient, first_answer: dict[str, Any]
) -> None:
    limit = create_limit(
        account=cast.account,
        actor=cast.actor,
        name="Storage readers",
        alternatives=[[CostFilter(dimension="service", values=["Storage"])]],
    )
    key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="limited", scope="read")
    limit_key(key=key, limit=limit, actor=cast.actor)
    limited = McpClient(plaintext)
    with at(ASKED):
        answer = ask(limited, **SEPTEMBER)
    bills.bring("AWS", september("500", "33"), on=date(2026, 10, 7))

    with at(VERIFIED):
        verified = verify(limited, answer)

        assert "unknown receipt" in limited.problem("verifyAnswer", receipt=first_answer["receipt"])
        assert "unknown receipt" in mcp_client.problem("verifyAnswer", receipt=answer["receipt"])
    assert verified["outcome"] == "restated"
    assert (verified["restated"], verified["lines"]) == ([], [])
    assert "500" not in str(verified)
    assert {"figure": "totals amount", "currency": "USD", "then": 20, "now": 33} in verified["figures"]

    wider = [[CostFilter(dimension="service", values=["Compute", "Storage"])]]
    change_limit(limit=limit, actor=cast.actor, name="Storage readers", alternatives=wider)
    assert "unknown receipt" in limited.problem("verifyAnswer", receipt=answer["receipt"])


def test_a_receipt_that_was_not_written_is_unknown(bills: Bills, mcp_client: McpClient) -> None:
    answer = mcp_client.ask("querySpend", **SEPTEMBER)

    assert "unknown receipt" in mcp_client.problem("verifyAnswer", receipt=answer["receipt"])


def test_a_code_may_be_written_in_small_letters_without_hyphens(
    mcp_client: McpClient, first_answer: dict[str, Any]
) -> None:
    lower_code = first_answer["receipt"].replace("-", "").lower()

    assert mcp_client.ask("verifyAnswer", receipt=lower_code)["receipt"] == first_answer["receipt"]


@pytest.mark.parametrize("text", ["x", "BCDF-GHJK-LMNP", "AAAA-AAAA-AAAA-AAAA", "BCDF GHJK LMNP QRS1"])
def test_an_invalid_receipt_is_refused_with_what_to_write(mcp_client: McpClient, text: str) -> None:
    problem = mcp_client.problem("verifyAnswer", receipt=text)

    assert (
        problem == f"receipt: '{text}' is no receipt. Write the 16 letters of the field receipt of an answer."
    )


# Every digit, since a digest may lack any one of them.
OTHER_DIGITS = str.maketrans("0123456789", "1234567890")


@pytest.mark.parametrize("field", ["arguments", "engine", "expressions"])
def test_a_stored_receipt_that_was_changed_proves_nothing(
    cast: Cast, mcp_client: McpClient, first_answer: dict[str, Any], field: str
) -> None:
    with account_scope(cast.account):
        row = AnswerReceipt.objects.get()
        setattr(row, field, getattr(row, field).translate(OTHER_DIGITS))
        row.save()

    verified = verify(mcp_client, first_answer)

    assert verified["outcome"] == "unproven"
    assert verified["summary"].startswith("Not proven: ")


def test_arguments_with_a_secret_are_not_stored_and_have_no_receipt(
    cast: Cast, bills: Bills, mcp_client: McpClient
) -> None:
    filters = [{"dimension": "service", "op": "not_in", "values": [f"sk-{'a' * 30}"]}]

    answer = ask(mcp_client, **SEPTEMBER, filters=filters)

    assert "receipt" not in answer
    with account_scope(cast.account):
        assert not AnswerReceipt.objects.exists()


def test_bills_are_stored_once_for_all_receipts_that_name_them(
    cast: Cast, bills: Bills, mcp_client: McpClient
) -> None:
    with at(ASKED):
        for group in ("service", "region", "provider"):
            ask(mcp_client, **{**SEPTEMBER, "group_by": [group]})

    with account_scope(cast.account):
        assert (AnswerReceipt.objects.count(), AnswerState.objects.count()) == (3, 1)
