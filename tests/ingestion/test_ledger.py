"""The ledger that pushes write, and the meter: always the events that are stored."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from ingestion import tasks
from ingestion.models import RejectedEvent, UsageBatch, UsageMeter
from ingestion.queries import metered_events, metered_events_by_month
from ingestion.services import ledger
from tests.cast import Cast
from tests.examples import examples
from tests.ingestion.push_client import PushClient, create_push_client, event, inbox

NOVEMBER = date(2026, 11, 1)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def batches(account: Account) -> list[UsageBatch]:
    with account_scope(account):
        return list(UsageBatch.objects.order_by("received_at", "id"))


def rejected_events(account: Account) -> list[RejectedEvent]:
    with account_scope(account):
        return list(RejectedEvent.objects.order_by("received_at", "id"))


def void_row(batch: UsageBatch) -> None:
    batch.voided_at = NOW
    batch.save()


def test_a_push_writes_one_row_that_names_its_events(cast: Cast, push_client: PushClient) -> None:
    with clock.frozen(NOW):
        answer = push_client.push(
            event(timestamp="2026-11-19T23:59:59Z"), event(quantity="x"), event(timestamp="2025-01-01")
        )

    (row,) = batches(cast.account)
    assert answer.headers["Usage-Batch-Id"] == str(row.id) == inbox()[0].batch
    assert answer.headers["Usage-Rejected"] == "1"
    assert (row.accepted, row.rejected, row.duplicates, row.stored_count) == (2, 1, 0, 2)
    assert (row.first_day, row.last_day) == (date(2025, 1, 1), date(2026, 11, 19))
    assert (row.source_id, row.origin, row.received_at) == (push_client.source.pk, "push", NOW)


def test_a_push_of_rejected_events_alone_is_in_the_ledger_and_counts_nothing(
    cast: Cast, push_client: PushClient
) -> None:
    push_client.push(event(quantity="x"), event(metric=""))

    (row,) = batches(cast.account)
    assert (row.accepted, row.rejected, row.first_day, row.last_day) == (0, 2, None, None)
    assert metered_events_by_month(cast.account) == {}


@pytest.mark.parametrize("body", [b"no json", b"[]", b"{}"])
def test_a_body_that_is_refused_is_in_no_ledger(cast: Cast, push_client: PushClient, body: bytes) -> None:
    answer = push_client.send(body)

    assert batches(cast.account) == []
    assert "Usage-Batch-Id" not in answer.headers


def test_the_first_ten_rejected_events_are_kept_as_they_were_sent(
    cast: Cast, push_client: PushClient
) -> None:
    wrong = [event(customer_id="ü", quantity="x", note=number) for number in range(12)]
    with clock.frozen(NOW):
        answer = push_client.push(event(), *wrong, 5)

    rows = rejected_events(cast.account)
    assert [row.position for row in rows] == list(range(1, 11))
    assert [row.excerpt for row in rows] == [json.dumps(each) for each in wrong[:10]]
    assert {(row.error, str(row.batch), row.source_id, row.received_at) for row in rows} == {
        ("quantity must be a number", answer.headers["Usage-Batch-Id"], push_client.source.pk, NOW)
    }


def test_an_excerpt_has_no_key_and_no_more_than_500_characters(cast: Cast, push_client: PushClient) -> None:
    push_client.push(
        event(customer_id="😀" * 999, quantity="x"),
        {"a": push_client.key},
        {"b": "x" * 480 + push_client.key},
    )

    long, key, cut = rejected_events(cast.account)
    assert len(long.excerpt) == 500
    assert key.excerpt == '{"a": "fuse_…"}'
    assert push_client.key[5:15] not in long.excerpt + key.excerpt + cut.excerpt


def test_the_newest_hundred_rejected_events_of_a_source_are_kept(cast: Cast, push_client: PushClient) -> None:
    other = create_push_client(cast, name="Other")
    other.push(event(quantity="x"))
    for _ in range(12):
        push_client.push(*[event(quantity="x")] * 10)
    newest = [row.pk for row in rejected_events(cast.account) if row.source_id == push_client.source.pk][
        -100:
    ]

    tasks.prune_rejected_events()

    remaining = rejected_events(cast.account)
    assert [row.pk for row in remaining if row.source_id == push_client.source.pk] == newest
    assert len([row for row in remaining if row.source_id == other.source.pk]) == 1


# The meter


def test_the_meter_counts_by_month_of_receipt_and_account(cast: Cast, push_client: PushClient) -> None:
    elsewhere = create_push_client(cast, cast.other_account)
    with clock.frozen(datetime(2026, 10, 31, 23, 59, 59, 999_999, tzinfo=UTC)):
        push_client.push(event(timestamp="2020-01-01"))
    with clock.frozen(datetime(2026, 11, 1, tzinfo=UTC)):
        push_client.push(event(timestamp="2020-01-01"), event())
        elsewhere.push(event())

    assert metered_events_by_month(cast.account) == {date(2026, 10, 1): 1, NOVEMBER: 2}
    assert metered_events(cast.account, date(2026, 11, 30)) == 2
    assert metered_events(cast.other_account, NOVEMBER) == 1
    assert metered_events(cast.account, date(2026, 12, 1)) == 0


def test_a_voided_batch_is_off_the_meter_also_after_it_left_the_ledger(
    cast: Cast, push_client: PushClient
) -> None:
    with clock.frozen(NOW):
        push_client.push(event(), event())
        push_client.push(event())
    void_row(next(row for row in batches(cast.account) if row.accepted == 2))

    assert metered_events(cast.account, NOVEMBER) == 1
    with clock.frozen(NOW + timedelta(days=ledger.LEDGER_DAYS, seconds=1)):
        tasks.sweep()
    assert batches(cast.account) == []
    assert metered_events(cast.account, NOVEMBER) == 1


def test_batches_leave_the_ledger_after_35_days_and_the_meter_stays(
    cast: Cast, push_client: PushClient
) -> None:
    for days in range(3):
        with clock.frozen(NOW + timedelta(days=days)):
            push_client.push(event(), event(quantity="x"))
    with clock.frozen(NOW + timedelta(days=ledger.LEDGER_DAYS + 1, seconds=1)):
        assert ledger.roll_up(limit=1) == 2
        assert ledger.roll_up() == 0

    assert len(batches(cast.account)) == 1
    with account_scope(cast.account):
        assert [(row.month, row.events) for row in UsageMeter.objects.all()] == [(NOVEMBER, 2)]
    assert metered_events_by_month(cast.account) == {NOVEMBER: 3}


def test_a_batch_that_waits_to_be_voided_stays_in_the_ledger(cast: Cast, push_client: PushClient) -> None:
    with clock.frozen(NOW):
        push_client.push(event())
    (row,) = batches(cast.account)
    row.void_asked_at = NOW
    row.save()

    with clock.frozen(NOW + timedelta(days=ledger.LEDGER_DAYS, seconds=1)):
        assert ledger.roll_up() == 0
        void_row(row)
        assert ledger.roll_up() == 1
    assert metered_events_by_month(cast.account) == {}


def test_the_meter_outlives_the_source(cast: Cast, push_client: PushClient) -> None:
    push_client.push(event(), event())

    push_client.source.delete()

    assert sum(metered_events_by_month(cast.account).values()) == 2


events = st.builds(
    lambda name, good: event(event_id=name, **({} if good else {"quantity": "x"})),
    st.sampled_from([..., "a", "b", "c"]),
    st.booleans(),
)
steps = st.lists(
    st.tuples(st.just("push"), st.lists(events, max_size=5))
    | st.tuples(st.just("void"), st.integers(0, 5))
    | st.tuples(st.just("days"), st.integers(1, 40))
    | st.tuples(st.just("sweep"), st.none()),
    max_size=12,
)


@settings(
    max_examples=examples(60),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=steps)
def test_whatever_happens_the_meter_is_what_was_stored_and_not_voided(
    push_client: PushClient, cast: Cast, steps: list[tuple[str, Any]]
) -> None:
    with transaction.atomic():
        now, received = NOW, dict[str, date]()
        for kind, payload in steps:
            with clock.frozen(now):
                if kind == "push":
                    answer = push_client.push(*payload)
                    received[answer.headers["Usage-Batch-Id"]] = now.date().replace(day=1)
                elif kind == "void":
                    for row in batches(cast.account)[payload : payload + 1]:
                        void_row(row)
                        received.pop(str(row.id), None)
                elif kind == "sweep":
                    tasks.sweep()
            if kind == "days":
                now += timedelta(days=payload)

        stored = Counter(received[row.batch] for row in inbox() if row.batch in received)
        assert metered_events_by_month(cast.account) == stored
        assert all(metered_events(cast.account, month) == count for month, count in stored.items())
        transaction.set_rollback(True)
