"""?dry_run=true: the same answer, and nothing stored. And event ids, Idempotency-Key and dry runs together."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from accounts.scoping import account_scope
from ingestion.models import Customer, UsageBatch, UsageMetric
from ingestion.queries import metered_events_by_month
from ingestion.services import Retry, accept_events
from tests.cast import Cast
from tests.ingestion.push_client import (
    MOMENT,
    PushClient,
    batch_of,
    create_push_client,
    credential_of,
    event,
    event_id_rows,
    inbox,
    key_of,
    reasons,
)
from tests.waiting import threads

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OTHER = "event_id must not be that of an event with other content"
DRY = "?dry_run=true"
each = pytest.mark.parametrize


def batch_ids() -> list[str]:
    return [str(row.id) for row in UsageBatch.objects.unscoped().order_by("received_at")]


@each("flag", ["?dry_run=true", "?dry_run=True", "?dry_run=1"])
def test_a_dry_run_is_answered_the_same_way_and_stores_nothing(
    cast: Cast, push_client: PushClient, flag: str
) -> None:
    batch = [event(event_id="a", customer_name="A"), event(quantity="x"), event(event_id="a")]
    dry = push_client.push(*batch, path=flag)
    rows = (inbox(), batch_ids(), event_id_rows(), metered_events_by_month(cast.account))
    with account_scope(cast.account):
        row_count = Customer.objects.count() + UsageMetric.objects.count()
    real = push_client.push(*batch)

    assert (dry.status_code, dry.content) == (real.status_code, real.content)
    assert dry.headers["Usage-Duplicates"] == real.headers["Usage-Duplicates"] == "1"
    assert dry.headers["Usage-Rejected"] == real.headers["Usage-Rejected"] == "1"
    assert "Usage-Batch-Id" not in dry.headers
    assert (rows, row_count) == (([], [], 0, {}), 0)


@each("flag", ["?dry_run=false", "?dry_run=0", "?other=1"])
def test_without_a_yes_it_is_no_dry_run(push_client: PushClient, flag: str) -> None:
    push_client.push(event(), path=flag)

    assert len(inbox()) == 1


@each("flag", ["?dry_run=yes", "?dry_run=", "?dry_run"])
def test_an_ambiguous_dry_run_is_refused_and_not_stored(push_client: PushClient, flag: str) -> None:
    answer = push_client.push(event(), path=flag)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_parameter")
    assert inbox() == []


def test_a_dry_run_sees_what_is_stored(push_client: PushClient) -> None:
    push_client.push(event(event_id="a"))

    dry = push_client.push(event(event_id="a"), event(event_id="a", quantity=2), path=DRY)

    assert reasons(dry, submitted=2) == {1: OTHER}
    assert dry.headers["Usage-Duplicates"] == "1"


def test_a_dry_run_uses_no_idempotency_key_and_is_answered_by_one(push_client: PushClient) -> None:
    rounded = event(quantity=0.1 + 0.2)
    dry = push_client.push(rounded, idempotency_key="k", path=DRY)
    real = push_client.push(rounded, idempotency_key="k")
    again = push_client.push(rounded, idempotency_key="k", path=DRY)
    other = push_client.push(event(), event(), idempotency_key="k", path=DRY)

    assert dry.content == real.content == again.content
    assert [each.headers["Usage-Rounded"] for each in (dry, real, again)] == ["1", "1", "1"]
    assert "Idempotent-Replayed" not in real.headers
    assert again.headers["Usage-Batch-Id"] == real.headers["Usage-Batch-Id"]
    assert other.status_code == 422


def test_a_dry_run_notes_the_use_of_the_key(push_client: PushClient) -> None:
    push_client.push(event(), path=DRY)

    key = key_of(push_client.source)
    assert key is not None
    assert key.last_used_at is not None


def test_ids_and_key_together_a_retry_under_a_new_key_is_all_duplicates(push_client: PushClient) -> None:
    first = push_client.push(event(event_id="a"), event(event_id="b"), idempotency_key="k")
    again = push_client.push(event(event_id="a"), event(event_id="b"), idempotency_key="l")

    assert first.content == again.content
    assert again.headers["Usage-Duplicates"] == "2"
    assert len(inbox()) == 2


@pytest.mark.django_db(transaction=True)
def test_pushes_with_the_same_ids_in_opposite_orders_never_lock_each_other_out(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = credential_of(push_client)
    names = [f"e-{number}" for number in range(200)]

    def send(turn: int) -> int:
        order = names if turn % 2 else names[::-1]
        batch = batch_of(*[event(event_id=name, customer_id=name, customer_name=str(turn)) for name in order])
        retry = Retry.of("usage 1", f"k-{turn}", b"body")
        return int(accept_events(credential=credential, batch=batch, retry=retry).headers["Usage-Duplicates"])

    with threads(4) as submit:
        duplicates = [sent.result(timeout=120) for sent in [submit(send, turn) for turn in range(24)]]

    assert sum(duplicates) == 23 * 200
    assert len(inbox()) == 200
    assert {row.event_time for row in inbox()} == {datetime.fromisoformat(MOMENT)}
