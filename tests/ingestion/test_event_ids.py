"""event_id: the same event sent again is accepted and stored once; another event under its id is rejected."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.scoping import account_scope
from finops.lib import clock
from ingestion import services, tasks
from ingestion.models import Customer, UsageBatch, UsageMetric
from ingestion.queries import metered_events_by_month
from ingestion.services import accept_events, event_ids
from tests.cast import Cast
from tests.examples import examples
from tests.ingestion.push_client import (
    PushClient,
    batch_of,
    create_push_client,
    credential_of,
    event,
    event_id_rows,
    inbox,
    reasons,
)
from tests.waiting import is_blocking_others, threads, wait_until

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OTHER = "event_id must not be that of an event with other content"
each = pytest.mark.parametrize


def test_the_same_event_again_is_accepted_and_stored_once(cast: Cast, push_client: PushClient) -> None:
    first = push_client.push(event(event_id="a"), event())
    again = push_client.push(event(event_id="a"), event())

    assert (first.json()["accepted"], first.headers["Usage-Duplicates"]) == (2, "0")
    assert (again.json()["accepted"], again.headers["Usage-Duplicates"]) == (2, "1")
    assert len(inbox()) == 3
    assert sum(metered_events_by_month(cast.account).values()) == 3


def test_the_same_id_with_other_content_is_rejected_at_its_index(push_client: PushClient) -> None:
    push_client.push(event(event_id="a", quantity=1))

    answer = push_client.push(event(), event(event_id="a", quantity=2), event(quantity="x"))

    assert reasons(answer, submitted=3) == {1: OTHER, 2: "quantity must be a number"}
    assert answer.headers["Usage-Rejected"] == "2"
    assert answer.headers["Usage-Duplicates"] == "0"
    assert len(inbox()) == 2


def test_within_one_batch_the_first_of_an_id_counts(push_client: PushClient) -> None:
    answer = push_client.push(
        event(event_id="a", quantity="x"),
        event(event_id="a", quantity=0.1 + 0.2),
        event(event_id="a", quantity=0.1 + 0.2),
        event(event_id="a", quantity=0.1 + 0.7),
    )

    assert reasons(answer, submitted=4) == {0: "quantity must be a number", 3: OTHER}
    assert answer.headers["Usage-Duplicates"] == "1"
    assert answer.headers["Usage-Rounded"] == "2", "of what is accepted, not of what is rejected"
    assert [row.position for row in inbox()] == [1]


@each(
    ("one", "two"),
    [
        ({"quantity": 100}, {"quantity": 100.0}),
        ({"quantity": 0.1 + 0.2}, {"quantity": 0.1 + 0.2}),
        ({"quantity": 0.1 + 0.2}, {"quantity": 0.3}),
        ({"timestamp": "2026-11-20T12:00:00Z"}, {"timestamp": "Fri, 20 Nov 2026 13:00:00 +0100"}),
        ({"dimensions": {"a": "1", "b": "2"}}, {"dimensions": {"b": "2", "a": "1"}}),
        ({"unit": ""}, {"unit": None}),
        ({"dimensions": {}}, {}),
        ({"customer_name": "A"}, {"customer_name": "B"}),
        ({"note": 1}, {}),
    ],
    ids=[
        "quantity",
        "rounded twice",
        "rounded before",
        "timestamp",
        "dimensions",
        "unit",
        "no dimensions",
        "name",
        "unknown field",
    ],
)
def test_content_is_what_an_event_says_not_how_it_is_written(
    push_client: PushClient, one: dict[str, Any], two: dict[str, Any]
) -> None:
    push_client.push(event(event_id="a", **one))

    assert push_client.push(event(event_id="a", **two)).headers["Usage-Duplicates"] == "1"


@each(
    "other",
    [
        {"quantity": 1.000000000001},
        {"timestamp": "2026-11-20T12:00:00.000001Z"},
        {"dimensions": {"a": "2"}},
        {"unit": "u"},
        {"metric": "m"},
        {"customer_id": "c"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_each_field_of_an_event_is_content(push_client: PushClient, other: dict[str, Any]) -> None:
    push_client.push(event(event_id="a", dimensions={"a": "1"}))

    assert push_client.errors(event(event_id="a", **{"dimensions": {"a": "1"}, **other})) == {0: OTHER}


def test_another_source_has_ids_of_its_own(cast: Cast, push_client: PushClient) -> None:
    other = create_push_client(cast, name="Other backend")
    push_client.push(event(event_id="a", quantity=1))

    checked = other.send(json.dumps({"events": [event(event_id="a", quantity=2)]}), path="?dry_run=true")
    first = other.push(event(event_id="a", quantity=2), event(quantity="x"))
    again = other.push(event(event_id="a", quantity=2))

    assert (checked.json()["accepted"], checked.headers["Usage-Duplicates"]) == (1, "0")
    assert (first.json()["accepted"], first.headers["Usage-Duplicates"]) == (1, "0")
    assert (again.json()["accepted"], again.headers["Usage-Duplicates"]) == (1, "1")
    assert [row.quantity for row in inbox()] == [1, 2]


def test_a_duplicate_and_a_rejected_event_bring_no_name_customer_or_metric(
    cast: Cast, push_client: PushClient
) -> None:
    push_client.push(event(event_id="a", customer_name="New"))

    push_client.push(
        event(event_id="a", customer_name="Old"), event(event_id="a", customer_id="c", metric="m"), event()
    )

    with account_scope(cast.account):
        assert dict(Customer.objects.values_list("customer_id", "name")) == {"cust-1": "New"}
        assert list(UsageMetric.objects.values_list("name", flat=True)) == ["requests"]


@each("value", ["", "x" * 256, "a\0", 5, True, {}, ["a"]], ids=str)
def test_an_event_id_of_another_kind_is_a_violation(push_client: PushClient, value: Any) -> None:
    assert push_client.error(event_id=value) == "event_id must be a non-empty string up to 255 characters"


@each("value", [None, "x", "😀" * 255], ids=["null", "one", "255 emoji"])
def test_an_event_id_may_be_null_and_255_characters_long(push_client: PushClient, value: Any) -> None:
    assert push_client.error(event_id=value) == ""


def test_ids_are_known_for_35_days(push_client: PushClient) -> None:
    with clock.frozen(NOW):
        push_client.push(event(event_id="a"))
    with clock.frozen(NOW + timedelta(days=34)):
        tasks.expire_event_ids()
        assert push_client.push(event(event_id="a")).headers["Usage-Duplicates"] == "1"
    with clock.frozen(NOW + timedelta(days=36)):
        tasks.expire_event_ids()
        assert push_client.push(event(event_id="a")).headers["Usage-Duplicates"] == "0"


def test_expiry_reads_the_whole_table_in_parts(push_client: PushClient) -> None:
    with clock.frozen(NOW):
        for part in range(3):
            push_client.push(*[event(event_id=f"{part}-{number}") for number in range(1_000)])
    with clock.frozen(NOW + timedelta(days=1)):
        push_client.push(event(event_id="new"))

    assert event_ids.expire(date(2026, 11, 21), pages=5) == 3_000
    assert event_id_rows() == 1


def test_ids_of_a_batch_that_is_voided_may_come_again(cast: Cast, push_client: PushClient) -> None:
    wrong = push_client.push(event(event_id="a", quantity=1), event(event_id="b"))
    push_client.push(event(event_id="c"))

    batch = UsageBatch.objects.unscoped().get(pk=wrong.headers["Usage-Batch-Id"])
    services.void_usage_batch(batch=batch, actor=cast.actor)

    again = push_client.push(event(event_id="a", quantity=2), event(event_id="c"))
    assert again.json()["rejected"] == 0
    assert again.headers["Usage-Duplicates"] == "1"


@each(("is_duplicate", "statements"), [(False, 1), (True, 3)], ids=["new", "duplicate"])
def test_new_ids_are_part_of_one_statement_and_known_ones_cost_two_more(
    push_client: PushClient, is_duplicate: bool, statements: int
) -> None:
    events = [event(event_id=str(number)) for number in range(1_000)]
    if is_duplicate:
        push_client.push(*events[:10])

    with CaptureQueriesContext(connection) as queries:
        push_client.push(*events)

    names = ("claim_new_ids", "event_ids", "eventid")
    of_ids = [query for query in queries.captured_queries if any(name in query["sql"] for name in names)]
    assert len(of_ids) == statements


def test_new_ids_around_known_ones_are_stored(push_client: PushClient) -> None:
    events = [event(event_id=str(number)) for number in range(300)]
    push_client.push(*events[100:103])

    first, again = push_client.push(*events), push_client.push(*events)

    assert [answer.headers["Usage-Duplicates"] for answer in (first, again)] == ["3", "300"]
    assert len(inbox()) == event_id_rows() == 300


@settings(
    max_examples=examples(80),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pushes=st.lists(
        st.lists(
            st.builds(
                lambda name, quantity: event(event_id=name, quantity=quantity),
                st.sampled_from([..., None, "a", "b", "c"]),
                st.sampled_from([1, 2, "x"]),
            ),
            max_size=5,
        ),
        max_size=5,
    )
)
def test_whatever_is_sent_again_each_id_is_stored_once(
    push_client: PushClient, cast: Cast, pushes: list[list[dict[str, Any]]]
) -> None:
    """A model of the rules over all pushes, with the counts of every answer."""
    with transaction.atomic():
        contents: dict[str, Any] = {}
        for batch in pushes:
            fates = Counter(expected_outcome(contents, each) for each in batch)
            answer = push_client.push(*batch)
            result = answer.json()
            assert result["accepted"] == fates["new"] + fates["duplicate"]
            assert result["rejected"] == fates["other"] + fates["wrong"]
            assert int(answer.headers["Usage-Duplicates"]) == fates["duplicate"]
            batch_id = answer.headers["Usage-Batch-Id"]
            assert len([row for row in inbox() if row.batch == batch_id]) == fates["new"]
        transaction.set_rollback(True)


def expected_outcome(contents: dict[str, Any], one: dict[str, Any]) -> str:
    if one["quantity"] == "x":
        return "wrong"
    name = one.get("event_id")
    if name is None:
        return "new"
    if name not in contents:
        contents[name] = one["quantity"]
        return "new"
    return "duplicate" if contents[name] == one["quantity"] else "other"


@pytest.mark.django_db(transaction=True)
def test_the_same_event_in_two_pushes_at_once_is_stored_once(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = credential_of(push_client)

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch_of(event(event_id="a")))
            twin = submit(accept_events, credential=credential, batch=batch_of(event(event_id="a")))
            wait_until(is_blocking_others)
        second = twin.result(timeout=30)

    assert second.headers["Usage-Duplicates"] == "1"
    assert len(inbox()) == 1


@pytest.mark.django_db(transaction=True)
def test_an_event_whose_first_push_fails_is_stored_by_the_push_that_waits_for_it(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential, batch = credential_of(push_client), batch_of(event(event_id="a"), event(event_id="b"))

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch)
            twin = submit(accept_events, credential=credential, batch=batch)
            wait_until(is_blocking_others)
            transaction.set_rollback(True)
        second = twin.result(timeout=30)

    assert second.headers["Usage-Duplicates"] == "0"
    assert len(inbox()) == 2


@pytest.mark.django_db(transaction=True)
def test_parallel_pushes_with_the_same_ids_in_other_orders_never_deadlock_and_store_each_once(
    cast: Cast,
) -> None:
    credential = credential_of(create_push_client(cast))
    events = [event(event_id=str(number)) for number in range(200)]
    pushes = [events, events[::-1], events[50:] + events[:50], events[100:], events[:120], events[::3]]

    with threads(len(pushes)) as submit:
        running = [
            submit(accept_events, credential=credential, batch=batch_of(*some))
            for _ in range(5)
            for some in pushes
        ]
        results = [each.result(timeout=60) for each in running]

    duplicates = sum(int(result.headers["Usage-Duplicates"]) for result in results)
    assert len(inbox()) == 200
    assert duplicates == 5 * sum(map(len, pushes)) - 200
