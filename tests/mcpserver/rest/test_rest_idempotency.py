"""Idempotency-Key over REST: a write that is sent again is run once, for 24 hours, in its account."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.keys import mint_mcp_key
from accounts.models import AuditEntry, MCPKey
from finops.activity.models import CallOutcome
from finops.budgets.models import Budget
from finops.lib import clock
from ingestion.services import idempotency
from ingestion.services.idempotency import Retry
from mcpserver import http_request
from tests.cast import Cast
from tests.finops.activity.call_helpers import stored_calls
from tests.mcpserver.mcp_client import mint
from tests.mcpserver.rest.rest_client import TOOLS, RestClient, problem_of

BUDGET = {"name": "Core", "amount": 1500.5, "currency": "USD"}
KEY = "5b1f-4"


def send(rest_client: RestClient, key: str = KEY, tool: str = "create_budget", **arguments: Any) -> Any:
    body = json.dumps({**BUDGET, **arguments}).encode()
    return rest_client.http(f"{TOOLS}/{tool}", body, headers={"idempotency-key": key})


def budgets(cast: Cast) -> list[str]:
    return [row.name for row in Budget.objects.unscoped().filter(account=cast.account)]


def test_the_same_key_and_body_gets_the_first_answer_and_writes_once(cast: Cast, writer: RestClient) -> None:
    first = send(writer)
    entries = AuditEntry.objects.unscoped().filter(account=cast.account).count()

    again = send(writer)

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert budgets(cast) == ["Core"]
    assert AuditEntry.objects.unscoped().filter(account=cast.account).count() == entries
    assert [call.outcome for call in stored_calls(cast.account)] == [CallOutcome.OK, CallOutcome.OK]


def test_the_same_key_with_another_body_or_tool_is_refused(cast: Cast, writer: RestClient) -> None:
    send(writer)

    for response in (send(writer, name="Other"), send(writer, tool="create_dashboard")):
        assert "was sent with another call in the last 24 hours" in problem_of(response, 422)["detail"]
    assert budgets(cast) == ["Core"]


def test_after_24_hours_the_key_is_free_and_its_answer_is_deleted(cast: Cast, writer: RestClient) -> None:
    send(writer)

    with clock.frozen(clock.now() + timedelta(hours=24, seconds=1)):
        assert send(writer, name="Other").status_code == 200
        assert budgets(cast) == ["Core", "Other"]
    with clock.frozen(clock.now() + timedelta(hours=49)):
        assert idempotency.delete_expired_answers() == 1


def test_a_call_that_is_refused_can_be_corrected_under_its_key(cast: Cast, writer: RestClient) -> None:
    assert problem_of(send(writer, currency="none"), 422)
    assert budgets(cast) == []

    assert send(writer).status_code == 200
    assert budgets(cast) == ["Core"]


def test_keys_are_of_a_credential(cast: Cast, writer: RestClient) -> None:
    owners = [(cast.account, cast.actor), (cast.other_account, cast.other_actor)]
    texts = [
        mint_mcp_key(account=account, actor=actor, name="Second", scope="read_write")[1]
        for account, actor in owners
    ]

    answers = [send(writer), *(send(RestClient(text), name="Other") for text in texts)]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert not any("Idempotent-Replayed" in answer for answer in answers)
    assert budgets(cast) == ["Core", "Other"]


def test_a_read_only_key_gets_no_answer_of_a_write(cast: Cast, writer: RestClient) -> None:
    send(writer)

    assert "needs write access" in problem_of(send(RestClient(mint(cast))), 403)["detail"]


def test_an_invalid_key_is_refused_and_read_tools_need_none(cast: Cast, writer: RestClient) -> None:
    for key in ("", "a b", "x" * 256):
        assert "1 to 255 visible ASCII characters" in problem_of(send(writer, key), 400)["detail"]
    assert budgets(cast) == []
    listing = writer.http(f"{TOOLS}/listBudgets", b"{}", headers={"idempotency-key": "a b"})
    assert listing.status_code == 200


@pytest.fixture
def first_call(cast: Cast, writer: RestClient) -> Iterator[threading.Event]:
    """A call under the key that is under way, in a connection of its own, until the event is set."""
    retry = Retry.of(f"mcp_key {MCPKey.objects.unscoped().get().pk}", KEY, b"first")
    is_claimed, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            idempotency.claim(account_id=cast.account.pk, retry=retry)
            is_claimed.set()
            may_end.wait(30)
            transaction.set_rollback(True)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_claimed.wait(30)
    yield may_end
    may_end.set()
    thread.join()


@pytest.mark.django_db(transaction=True)
def test_a_second_call_during_the_first_is_refused_with_a_retry_time(
    cast: Cast, writer: RestClient, first_call: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(http_request, "TOOL_SECONDS", 0.3)
        response = send(writer)
    first_call.set()

    assert "is not finished" in problem_of(response, 409)["detail"]
    assert response["Retry-After"] == "5"
    assert send(writer).status_code == 200
    assert budgets(cast) == ["Core"]
