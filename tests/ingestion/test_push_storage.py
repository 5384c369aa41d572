"""The rows that a push stores: events, customers and metrics, all or none, also under a key that is revoked at the
same time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from ingestion import services
from ingestion.models import Customer, UsageBatch, UsageMetric
from ingestion.services import RevokedKeyError, accept_events
from ingestion.services.keys import authenticate_usage_key, lock_active_key
from ingestion.views.push import push
from tests.cast import Cast
from tests.ingestion.push_client import PATH, PushClient, batch_of, create_push_client, event, inbox, key_of
from tests.waiting import is_blocking_others, threads, wait_until

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def customers(account: Account) -> dict[str, str]:
    with account_scope(account):
        return dict(Customer.objects.values_list("customer_id", "name"))


def metrics(account: Account) -> list[tuple[str, str]]:
    with account_scope(account):
        return list(UsageMetric.objects.values_list("name", "aggregation"))


# Customers and metrics


def test_a_customer_comes_with_its_first_event_and_the_name_follows_every_event_that_has_one(
    cast: Cast, push_client: PushClient
) -> None:
    push_client.push(event(customer_id="a"), event(customer_id="b", customer_name="Bee"))
    first = customers(cast.account)
    push_client.push(event(customer_id="a", customer_name="Ay"), event(customer_id="b"))
    second = customers(cast.account)
    push_client.push(event(customer_id="a", customer_name="Aye"), event(customer_id="b", customer_name=None))

    assert first == {"a": "", "b": "Bee"}
    assert second == {"a": "Ay", "b": "Bee"}
    assert customers(cast.account) == {"a": "Aye", "b": "Bee"}


def test_a_push_reads_what_it_names_alone_also_by_a_plan_from_before_the_tables_grew(
    cast: Cast, push_client: PushClient
) -> None:
    def count_rows_read(*pushed: dict[str, Any]) -> int:
        before = _count_rows_read()
        assert push_client.push(*pushed).json()["accepted"] == len(pushed)
        return _count_rows_read() - before

    named = [event(customer_id=f"c{at}", customer_name="C", metric=f"m{at}") for at in range(20)]
    for _ in range(10):  # the plan is made, while there are 20 rows of each
        push_client.push(*named)
    while_small = count_rows_read(*named)
    for run in range(3):
        push_client.push(*[event(customer_id=f"{run} {at}", metric=f"{run} {at}") for at in range(400)])

    of_an_event = 4  # an index's entry and a row, of its customer and of its metric
    assert while_small <= of_an_event * len(named)
    assert count_rows_read(*named) <= of_an_event * len(named)
    assert count_rows_read(named[0]) <= of_an_event


def _count_rows_read() -> int:
    """Of customers and metrics, by this transaction: from their tables and through their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT sum(pg_stat_get_xact_tuples_returned(relation) + pg_stat_get_xact_tuples_fetched(relation))
              FROM (SELECT relation FROM unnest(%s::regclass[]) AS tables(relation) UNION ALL
                    SELECT indexrelid FROM pg_index WHERE indrelid = ANY(%s::regclass[])) AS relations(relation)
            """,
            [[Customer._meta.db_table, UsageMetric._meta.db_table]] * 2,
        )
        (count,) = cursor.fetchone() or (0,)
    return int(count)


def test_the_last_of_several_names_in_a_batch_wins(cast: Cast, push_client: PushClient) -> None:
    push_client.push(*[event(customer_id="a", customer_name=name) for name in ("One", "Two", None, ...)])

    assert customers(cast.account) == {"a": "Two"}


def test_a_name_as_long_as_the_sender_likes_is_stored_and_an_empty_one_is_a_name_too(
    cast: Cast, push_client: PushClient
) -> None:
    push_client.push(event(customer_id="a", customer_name="x" * 5_000))
    long = customers(cast.account)
    push_client.push(event(customer_id="a", customer_name=""))

    assert long == {"a": "x" * 5_000}
    assert customers(cast.account) == {"a": ""}


def test_a_rejected_event_leaves_no_customer_no_name_and_no_metric(
    cast: Cast, push_client: PushClient
) -> None:
    push_client.push(event(customer_id="a", customer_name="A"))

    push_client.push(
        event(customer_id="a", customer_name="B", quantity="x"),
        event(customer_id="new", metric="new", timestamp=""),
    )

    assert customers(cast.account) == {"a": "A"}
    assert metrics(cast.account) == [("requests", "sum")]


def test_a_metric_comes_with_its_first_event_and_keeps_its_settings(
    cast: Cast, push_client: PushClient
) -> None:
    push_client.push(event(metric="seats"), event(metric="requests"), event(metric="seats"))
    services.set_metric(account=cast.account, actor=cast.actor, name="seats", aggregation="average_of_days")
    push_client.push(event(metric="seats"))

    assert metrics(cast.account) == [("requests", "sum"), ("seats", "average_of_days")]


def test_the_same_names_in_two_accounts_are_two_rows(cast: Cast, push_client: PushClient) -> None:
    elsewhere = create_push_client(cast, cast.other_account)

    push_client.push(event(customer_id="a", customer_name="Ours"))
    elsewhere.push(event(customer_id="a", customer_name="Theirs"))

    assert customers(cast.account) == {"a": "Ours"}
    assert customers(cast.other_account) == {"a": "Theirs"}


def test_a_push_that_names_what_is_known_writes_no_row_of_customers_and_metrics(
    cast: Cast, push_client: PushClient
) -> None:
    def versions() -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT ctid::text, xmax::text FROM ingestion_customer UNION ALL SELECT ctid::text, xmax::text FROM ingestion_usagemetric"
            )
            return list(cursor.fetchall())

    push_client.push(event(customer_id="a", customer_name="A"), event(customer_id="b"))
    before = versions()
    push_client.push(
        event(customer_id="a", customer_name="A"), event(customer_id="b"), event(customer_id="a")
    )

    assert versions() == before


# Events


def test_the_events_of_a_push_are_one_batch_in_array_order_received_at_one_moment(
    push_client: PushClient,
) -> None:
    with clock.frozen(NOW):
        push_client.push(*[event(quantity=number) for number in range(5)])
    push_client.push(event())

    rows = inbox()
    assert [(row.position, int(row.quantity)) for row in rows[:5]] == [
        (number, number) for number in range(5)
    ]
    assert {row.received_at for row in rows[:5]} == {NOW}
    assert len({row.batch for row in rows}) == 2


def test_a_push_that_fails_midway_leaves_nothing(
    push_client: PushClient, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("after events, customers, metrics and ledger")

    monkeypatch.setattr("ingestion.services.ledger.write_rejected_events", fail)

    answer = push_client.push(event(customer_name="A"), event(quantity="x"))

    assert answer.status_code == 500
    assert (inbox(), customers(cast.account), metrics(cast.account)) == ([], {}, [])
    assert not UsageBatch.objects.unscoped().exists()


def test_the_service_stores_under_the_key_and_says_the_batch(cast: Cast, push_client: PushClient) -> None:
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None

    receipt = accept_events(credential=credential, batch=batch_of(event(), event()))

    assert [row.batch for row in inbox()] == [receipt.headers["Usage-Batch-Id"]] * 2


# A key that ends while its push is under way


def test_a_key_regenerated_between_its_check_and_the_commit_stores_nothing(
    cast: Cast, push_client: PushClient
) -> None:
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None
    services.regenerate_usage_key(source=push_client.source, actor=cast.actor)

    with pytest.raises(RevokedKeyError):
        accept_events(credential=credential, batch=batch_of(event(customer_id="a")))

    assert (inbox(), customers(cast.account), metrics(cast.account)) == ([], {}, [])


@pytest.mark.parametrize("end", [services.regenerate_usage_key, services.revoke_usage_key])
def test_half_a_body_then_the_key_ends_then_the_rest_is_401_and_nothing_is_stored(
    cast: Cast, push_client: PushClient, end: Callable[..., object]
) -> None:
    body = json.dumps({"events": [event()]}).encode()

    class SlowBody(BytesIO):
        """The second read comes after the key has ended."""

        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            self.reads += 1
            if self.reads == 2:
                end(source=push_client.source, actor=cast.actor)
            return super().read(len(body) // 2)

    request = RequestFactory().post(PATH, headers={"authorization": f"Bearer {push_client.key}"})
    request.META.update({"CONTENT_LENGTH": "", "wsgi.input": SlowBody(body), "wsgi.input_terminated": True})

    answer = push(request)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "nothing was stored" in json.loads(answer.content)["error"]["message"]
    assert (inbox(), customers(cast.account)) == ([], {})


def test_an_empty_push_under_a_key_that_ended_meanwhile_is_refused_too(
    cast: Cast, push_client: PushClient
) -> None:
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None
    services.revoke_usage_key(source=push_client.source, actor=cast.actor)

    with pytest.raises(RevokedKeyError):
        accept_events(credential=credential, batch=batch_of())


# Several at once, each in a connection of its own


@pytest.mark.django_db(transaction=True)
def test_ending_a_key_waits_for_the_pushes_that_are_storing_and_their_events_count(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch_of(event()))
            ending = submit(services.revoke_usage_key, source=push_client.source, actor=cast.actor)
            wait_until(is_blocking_others)
            assert not ending.done()
        ending.result(timeout=30)

    assert len(inbox()) == 1
    assert key_of(push_client.source) is None


@pytest.mark.django_db(transaction=True)
def test_a_push_that_comes_while_its_key_is_being_replaced_waits_and_is_refused(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None

    with threads(1) as submit:
        with transaction.atomic():
            services.regenerate_usage_key(source=push_client.source, actor=cast.actor)
            coming = submit(accept_events, credential=credential, batch=batch_of(event()))
            wait_until(is_blocking_others)
        with pytest.raises(RevokedKeyError):
            coming.result(timeout=30)

    assert inbox() == []


@pytest.mark.django_db(transaction=True)
def test_pushes_of_one_key_do_not_wait_for_each_other(cast: Cast) -> None:
    push_client = create_push_client(cast)
    key = key_of(push_client.source)
    assert key is not None

    with threads(1) as submit, transaction.atomic():
        assert lock_active_key(key.pk)
        # Authenticates, which writes the last use, and stores, while another push holds the key.
        answer = submit(push_client.push, event()).result(timeout=30)

    assert answer.status_code == 200


@pytest.mark.django_db(transaction=True)
def test_parallel_pushes_that_name_the_same_customers_in_opposite_order_never_deadlock(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None
    rounds, ids = 25, [f"c{number:03}" for number in range(60)]
    start = threading.Barrier(4)

    def send(sender: int) -> None:
        for turn in range(rounds):
            order = ids if sender % 2 else ids[::-1]
            new = [f"new-{turn}-{each}" for each in order]
            named = [
                event(customer_id=each, customer_name=f"{sender} {turn}", metric=each)
                for each in [*order, *new]
            ]
            start.wait(timeout=60)
            accept_events(credential=credential, batch=batch_of(*named))

    with threads(4) as submit:
        for future in [submit(send, sender) for sender in range(4)]:
            future.result(timeout=120)

    assert len(inbox()) == 4 * rounds * 120
    assert len(customers(cast.account)) == 60 + rounds * 60
    assert len(metrics(cast.account)) == 60 + rounds * 60


@pytest.mark.django_db(transaction=True)
def test_a_push_without_a_name_takes_none_from_a_push_that_names_the_same_new_customer(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch_of(event(customer_id="a", customer_name="A")))
            nameless = submit(accept_events, credential=credential, batch=batch_of(event(customer_id="a")))
            wait_until(is_blocking_others)
        nameless.result(timeout=30)

    assert customers(cast.account) == {"a": "A"}
    assert len(inbox()) == 2


@pytest.mark.django_db(transaction=True)
def test_the_later_of_two_pushes_that_name_a_new_customer_wins(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = authenticate_usage_key(push_client.key)
    assert credential is not None

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch_of(event(customer_id="a")))
            naming = submit(
                accept_events,
                credential=credential,
                batch=batch_of(event(customer_id="a", customer_name="B")),
            )
            wait_until(is_blocking_others)
        naming.result(timeout=30)

    assert customers(cast.account) == {"a": "B"}


def test_the_statements_of_a_push_do_not_grow_with_its_customers(push_client: PushClient) -> None:
    def cost(count: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            push_client.push(
                *[event(customer_id=f"{count}-{number}", metric=str(number)) for number in range(count)]
            )
        return len(queries)

    assert cost(1) == cost(1_000)
