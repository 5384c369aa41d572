"""Idempotency-Key: a request sent again is answered again, and stored once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from finops.lib import clock
from ingestion import services, tasks
from ingestion.models import PushAnswer, UsageBatch
from ingestion.queries import metered_events_by_month
from ingestion.services import Retry, accept, accept_events
from tests.cast import Cast
from tests.ingestion.push_client import (
    PATH,
    PushClient,
    batch_of,
    create_push_client,
    credential_of,
    event,
    inbox,
)
from tests.waiting import is_blocking_others, threads, wait_until

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OTHER = "event_id must not be that of an event with other content"
DRY = "?dry_run=true"
each = pytest.mark.parametrize


def batch_ids() -> list[str]:
    return [str(row.id) for row in UsageBatch.objects.unscoped().order_by("received_at")]


def test_a_retry_gets_the_same_answer_and_stores_nothing(cast: Cast, push_client: PushClient) -> None:
    first = push_client.push(event(), event(quantity="x"), idempotency_key="k")
    again = push_client.push(event(), event(quantity="x"), idempotency_key="k")

    assert again.content == first.content
    assert again.headers["Usage-Batch-Id"] == first.headers["Usage-Batch-Id"]
    assert again.headers["Usage-Rejected"] == "1"
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert len(inbox()) == len(batch_ids()) == 1
    assert sum(metered_events_by_month(cast.account).values()) == 1


def test_another_body_under_the_key_is_422_and_stores_nothing(push_client: PushClient) -> None:
    push_client.push(event(), idempotency_key="k")

    answer = push_client.push(event(), event(), idempotency_key="k")

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "idempotency_key_reused"
    assert len(inbox()) == 1


def test_the_same_body_under_another_key_or_account_or_without_is_another_push(
    cast: Cast, push_client: PushClient
) -> None:
    elsewhere = create_push_client(cast, cast.other_account)
    push_client.push(event(), idempotency_key="k")
    push_client.push(event(), idempotency_key="l")
    push_client.push(event())
    elsewhere.push(event(), idempotency_key="k")

    assert len(inbox()) == 4


def test_an_answer_is_kept_for_24_hours(push_client: PushClient) -> None:
    with clock.frozen(NOW):
        push_client.push(event(), idempotency_key="k")
    with clock.frozen(NOW + timedelta(hours=23, minutes=59)):
        tasks.sweep()
        assert "Idempotent-Replayed" in push_client.push(event(), idempotency_key="k").headers
    with clock.frozen(NOW + timedelta(hours=24)):
        fresh = push_client.push(event(), event(), idempotency_key="k")
    with clock.frozen(NOW + timedelta(hours=47)):
        assert "Idempotent-Replayed" in push_client.push(event(), event(), idempotency_key="k").headers
    with clock.frozen(NOW + timedelta(hours=48)):
        tasks.sweep()

    assert fresh.json()["accepted"] == 2
    assert not PushAnswer.objects.unscoped().exists()


def test_an_answer_whose_day_ends_while_it_is_looked_for_is_given_once_more(
    push_client: PushClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clock.frozen(NOW):
        first = push_client.push(event(), idempotency_key="k")
    almost, moment = NOW + timedelta(hours=24), timedelta(microseconds=1)
    credential, retry = (
        credential_of(push_client),
        Retry.of(f"usage {push_client.source.pk}", "k", json.dumps({"events": [event()]}).encode()),
    )
    ticks = (almost + (number - 2) * moment for number in range(100))
    monkeypatch.setattr(clock, "now", lambda: next(ticks))

    again = accept_events(credential=credential, batch=batch_of(event()), retry=retry)

    assert again.body == first.content
    assert len(inbox()) == 1


def test_a_refused_request_uses_no_key(cast: Cast, push_client: PushClient, settings: Any) -> None:
    settings.USAGE_RATE_LIMIT_PER_MINUTE = 3
    push_client.send(b"no json", idempotency_key="k")
    push_client.push(event(), idempotency_key="k", authorization="Bearer nothing")
    push_client.push(event(), idempotency_key="k", content_encoding="br")
    stored = push_client.push(event(), event(), idempotency_key="k")
    refusal = push_client.push(event(), event(), idempotency_key="k")

    assert stored.json()["accepted"] == 2
    assert refusal.status_code == 429


def test_a_push_that_failed_uses_no_key(push_client: PushClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("ingestion.services.ledger.write_rejected_events", lambda **_: 1 / 0)
        assert push_client.push(event(), event(quantity="x"), idempotency_key="k").status_code == 500

    answer = push_client.push(event(), event(quantity="x"), idempotency_key="k")

    assert "Idempotent-Replayed" not in answer.headers
    assert len(inbox()) == 1


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_failed_stores_nothing_and_uses_no_key(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_client, sent = create_push_client(cast), event(event_id="a")
    with monkeypatch.context() as patched:
        patched.setattr("ingestion.services.accept._UPSERT", f"{accept._UPSERT}, 1 / (random() * 0)::int")
        assert push_client.push(sent, idempotency_key="k").status_code == 500
        assert inbox() == []

    answer = push_client.push(sent, idempotency_key="k")

    assert "Idempotent-Replayed" not in answer.headers
    assert answer.headers["Usage-Duplicates"] == "0"
    assert len(inbox()) == 1


@each("key", ["", "x" * 256, "a b", "é", "a\tb"], ids=["empty", "256", "space", "accent", "tab"])
def test_a_key_of_another_form_is_refused(push_client: PushClient, key: str) -> None:
    headers = {"authorization": f"Bearer {push_client.key}", "idempotency-key": key}
    body = json.dumps({"events": [event()]})

    answer = Client().generic("POST", PATH, body, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_idempotency_key"
    assert inbox() == []


def test_voided_events_are_accepted_again_only_under_a_new_key(cast: Cast, push_client: PushClient) -> None:
    """A retry that is still on its way must not bring back what a person took out."""
    first = push_client.push(event(event_id="a"), idempotency_key="k")
    batch = UsageBatch.objects.unscoped().get(pk=first.headers["Usage-Batch-Id"])
    services.void_usage_batch(batch=batch, actor=cast.actor)

    late = push_client.push(event(event_id="a"), idempotency_key="k")
    assert (late.content, late.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert inbox() == []

    second_push = push_client.push(event(event_id="a"), idempotency_key="another")
    assert second_push.headers["Usage-Duplicates"] == "0"
    assert len(inbox()) == 1


def test_a_dead_key_gets_no_kept_answer(cast: Cast, push_client: PushClient) -> None:
    credential = credential_of(push_client)
    retry = Retry.of("usage 1", "k", b"body")
    accept_events(credential=credential, batch=batch_of(event()), retry=retry)
    services.revoke_usage_key(source=push_client.source, actor=cast.actor)

    with pytest.raises(services.RevokedKeyError):
        accept_events(credential=credential, batch=batch_of(event()), retry=retry)


@pytest.mark.django_db(transaction=True)
def test_two_identical_requests_at_once_are_one_push(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential, retry = credential_of(push_client), Retry.of("usage 1", "k", b"body")

    with threads(1) as submit:
        with transaction.atomic():
            first = accept_events(credential=credential, batch=batch_of(event()), retry=retry)
            twin = submit(accept_events, credential=credential, batch=batch_of(event()), retry=retry)
            wait_until(is_blocking_others)
        second = twin.result(timeout=30)

    assert second.body == first.body
    assert second.headers["Idempotent-Replayed"] == "true"
    assert len(inbox()) == 1


@pytest.mark.django_db(transaction=True)
def test_when_the_first_of_two_identical_requests_fails_the_second_stores(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential, retry = credential_of(push_client), Retry.of("usage 1", "k", b"body")

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch_of(event(event_id="a")), retry=retry)
            twin = submit(
                accept_events, credential=credential, batch=batch_of(event(event_id="a")), retry=retry
            )
            wait_until(is_blocking_others)
            transaction.set_rollback(True)
        second = twin.result(timeout=30)

    assert "Idempotent-Replayed" not in second.headers
    assert second.headers["Usage-Duplicates"] == "0"
    assert len(inbox()) == 1
