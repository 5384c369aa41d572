"""The number of statements of a push, and the places where its key does not appear."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.models import UsageSource
from ingestion.services.keys import PREFIX, authenticate_usage_key
from tests.cast import Cast
from tests.ingestion.push_client import PushClient, event, inbox

BODY = json.dumps({"events": [event()]}).encode()
each = pytest.mark.parametrize


@each("fields", [{}, {"event_id": "evt_{}"}], ids=["without ids", "with new ids"])
def test_a_push_costs_one_statement_besides_the_check_of_its_key(
    push_client: PushClient, fields: dict[str, str]
) -> None:
    with CaptureQueriesContext(connection) as queries:
        push_client.push(
            *[
                event(customer_id=str(number), **{name: text.format(number) for name, text in fields.items()})
                for number in range(1_000)
            ]
        )
    verbs = [query["sql"].split()[0] for query in queries.captured_queries]

    assert verbs == ["WITH", "WITH"]
    assert len(inbox()) == 1_000


@each(
    ("events", "statements"),
    [
        ([event(), event(quantity="x")], ["SELECT", "WITH", "INSERT"]),
        ([event(event_id="a"), event(event_id="a")], ["SELECT", "SELECT", "WITH"]),
        ([event(event_id="known")], ["WITH", "SELECT", "WITH", "SELECT", "INSERT"]),
    ],
    ids=["rejected", "an id twice", "a known id"],
)
def test_any_other_push_is_a_transaction(
    push_client: PushClient, events: list[dict[str, Any]], statements: list[str]
) -> None:
    push_client.push(event(event_id="known"))
    with CaptureQueriesContext(connection) as queries:
        push_client.push(*events)
    verbs = [query["sql"].split()[0] for query in queries.captured_queries]

    # In a test the transaction is a savepoint.
    assert [verb for verb in verbs if verb not in ("SAVEPOINT", "RELEASE")] == ["WITH", *statements]


def test_a_push_with_an_idempotency_key_is_one_statement_and_its_retry_stores_nothing(
    push_client: PushClient,
) -> None:
    with CaptureQueriesContext(connection) as queries:
        first = push_client.push(event(event_id="a"), idempotency_key="a-push")
        assert len(queries) == 2
    again = push_client.push(event(event_id="a"), idempotency_key="a-push")

    assert again.json() == first.json()
    assert again.headers["Usage-Batch-Id"] == first.headers["Usage-Batch-Id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(inbox()) == 1


def test_a_reused_idempotency_key_leaves_no_event_id(push_client: PushClient) -> None:
    push_client.push(event(event_id="a"), idempotency_key="a-push")

    assert push_client.push(event(event_id="b"), idempotency_key="a-push").status_code == 422
    assert push_client.push(event(event_id="b")).headers["Usage-Duplicates"] == "0"


@each(("body", "most"), [(b"no json", 1), (b'{"events": []}', 3)], ids=["refused", "empty"])
def test_a_push_without_a_valid_event_costs_three_statements_at_most(
    push_client: PushClient, body: bytes, most: int
) -> None:
    with CaptureQueriesContext(connection) as queries:
        push_client.send(body)

    assert len([query for query in queries.captured_queries if "SAVEPOINT" not in query["sql"]]) <= most


def test_text_that_is_no_usage_key_costs_no_statement(push_client: PushClient) -> None:
    with CaptureQueriesContext(connection) as queries:
        push_client.send(BODY, authorization="Bearer fmcp_" + "0" * 48)

    assert len(queries) == 0


def test_the_key_reaches_no_log_and_no_table(
    push_client: PushClient, caplog: pytest.LogCaptureFixture
) -> None:
    secret = push_client.key[len(PREFIX) + 10 :]
    with caplog.at_level(logging.DEBUG), CaptureQueriesContext(connection) as queries:
        push_client.push(event(), event(quantity="x"))
        push_client.send(b"no json")
    log_and_sql = caplog.text + json.dumps([query["sql"] for query in queries.captured_queries])

    assert secret not in log_and_sql
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{secret}%"])
            assert cursor.fetchone() == (0,), table


def test_a_key_says_which_source_and_account_it_is_of(cast: Cast, push_client: PushClient) -> None:
    credential = authenticate_usage_key(push_client.key)

    assert credential is not None
    assert (credential.account, credential.source_id) == (cast.account, push_client.source.pk)
    assert UsageSource.objects.unscoped().get(pk=credential.source_id) == push_client.source
