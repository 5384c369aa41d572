"""Dimension keys of a source are limited: an event with one too many is rejected with a message, and pages stay
small."""

from __future__ import annotations

from typing import Any

import pytest

from finops.lake import queries as lake_queries
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PushClient, create_push_client, event, inbox, reasons

TOO_MANY = "dimensions must not raise the source above 1,000 different keys"
LONG = "dimensions must have keys of up to 255 characters"
FULL = {f"key {number:04} {'ä' * 200}": "value" for number in range(1_000)}
DRY = "?dry_run=true"


def event_with(**dimensions: Any) -> dict[str, Any]:
    return event(dimensions=dimensions)


@pytest.fixture
def client_at_limit(push_client: PushClient) -> PushClient:
    assert push_client.errors(event(dimensions=FULL)) == {}
    return push_client


def test_an_event_with_a_key_too_many_is_rejected_and_events_of_known_keys_are_stored(
    client_at_limit: PushClient,
) -> None:
    existing_key = next(iter(FULL))
    answer = client_at_limit.push(
        event_with(new="x"),
        event_with(**{existing_key: "x"}),
        event(),
        event(quantity="5"),
        event_with(new="y"),
    )
    assert reasons(answer, submitted=5) == {0: TOO_MANY, 3: "quantity must be a number", 4: TOO_MANY}
    assert len(inbox()) == 3
    assert answer.headers["Usage-Rejected"] == "3"


def test_within_a_batch_the_first_keys_are_taken(push_client: PushClient) -> None:
    nearly = dict(list(FULL.items())[:998])
    answer = push_client.push(
        event(dimensions=nearly),
        event_with(a="", b="", c=""),
        event_with(a=""),
        event_with(b=""),
        event_with(c=""),
        event_with(a=""),
    )
    assert reasons(answer, submitted=6) == {1: TOO_MANY, 4: TOO_MANY}
    assert push_client.errors(event_with(b=""), event_with(c="")) == {1: TOO_MANY}


def test_each_source_has_its_own(cast: Cast, client_at_limit: PushClient) -> None:
    assert create_push_client(cast, name="Other").errors(event_with(new="x")) == {}
    assert client_at_limit.errors(event_with(new="x")) == {0: TOO_MANY}


def test_a_dry_run_says_the_same_and_keeps_no_key(
    push_client: PushClient, client_at_limit: PushClient
) -> None:
    assert reasons(client_at_limit.send('{"events":[]}', path=DRY), submitted=0) == {}
    body = '{"events":[{"customer_id":"c","metric":"m","quantity":1,"timestamp":"2026-11-20","dimensions":{"new":"x"}}]}'
    assert reasons(client_at_limit.send(body, path=DRY), submitted=1) == {0: TOO_MANY}


def test_the_id_of_a_rejected_event_is_not_taken(cast: Cast, client_at_limit: PushClient) -> None:
    assert client_at_limit.errors(event(event_id="a", dimensions={"new": "x"})) == {0: TOO_MANY}
    again = client_at_limit.push(event(event_id="a"))
    assert (reasons(again, submitted=1), again.headers["Usage-Duplicates"]) == ({}, "0")


def test_a_long_key_is_refused(push_client: PushClient) -> None:
    assert push_client.errors(event_with(**{"k" * 255: ""}), event_with(**{"k" * 256: ""})) == {1: LONG}


def test_the_usage_page_of_a_full_source_is_small_and_takes_any_key(
    cast: Cast, client_at_limit: PushClient
) -> None:
    last = list(FULL)[-1]
    assert len(lake_queries.dimension_keys(cast.account)) == 1_000
    filters = "".join(f"&f{at}={key}&f{at}v=value" for at, key in enumerate(list(FULL)[:9]))
    for query_string in ("", f"?usage_metric=requests&group_by=dimension:{last}{filters}"):
        answer = signed_in(cast.viewer).get(f"/a/{cast.account.slug}/usage/{query_string}")
        assert answer.status_code == 200
        assert len(answer.content) < 500_000
    assert f'value="dimension:{last}"'.encode() in answer.content
    assert b"No event has dimension" not in answer.content
