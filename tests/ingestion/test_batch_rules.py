"""Valid bodies of events, and the response to a whole body, at the endpoint."""

from __future__ import annotations

import json

import pytest

from tests.ingestion.messages import (
    CUSTOMER,
    NUMBER,
)
from tests.ingestion.push_client import PushClient, event, inbox, reasons

each = pytest.mark.parametrize


def test_an_invalid_event_is_rejected_alone_and_the_others_are_accepted(push_client: PushClient) -> None:
    answer = push_client.push(event(), event(quantity="x"), event(), event(customer_id=""), event())

    assert answer.json() == {
        "accepted": 3,
        "rejected": 2,
        "errors": [{"index": 1, "error": NUMBER}, {"index": 3, "error": CUSTOMER}],
    }
    assert [row.position for row in inbox()] == [0, 2, 4]


def test_a_thousand_invalid_events_are_all_reported(push_client: PushClient) -> None:
    errors = push_client.errors(*[event(quantity="x")] * 1_000)

    assert errors == dict.fromkeys(range(1_000), NUMBER)
    assert inbox() == []


def test_a_thousand_valid_events_are_all_stored(push_client: PushClient) -> None:
    assert push_client.errors(*[event(quantity=number) for number in range(1_000)]) == {}
    assert [row.quantity for row in inbox()] == list(range(1_000))


def test_a_thousand_and_one_events_are_refused_as_a_whole(push_client: PushClient) -> None:
    answer = push_client.push(*[event()] * 1_001)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "too_many_events"
    assert "1,000" in answer.json()["error"]["message"]
    assert inbox() == []


def test_an_empty_array_is_answered_with_zeros(push_client: PushClient) -> None:
    answer = push_client.push()

    assert answer.status_code == 200
    assert answer.json() == {"accepted": 0, "rejected": 0, "errors": []}


@each(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"   ", "invalid_json"),
        (b"not json", "invalid_json"),
        (b'{"events": [', "invalid_json"),
        (b'{"events": []} x', "invalid_json"),
        (b'{"events": [],}', "invalid_json"),
        (b"{'events': []}", "invalid_json"),
        (b'{"events": ["\\x"]}', "invalid_json"),
        (b'{"events": ["a\nb"]}', "invalid_json"),
        (b'{"events": [], "x": "\xff"}', "invalid_json"),
        ('{"events": []}'.encode("utf-16"), "invalid_json"),
        (b'{"events":' + b"[" * 100_000, "invalid_json"),
        (b'{"events": [{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}]}", "invalid_json"),
        (b"null", "invalid_body"),
        (b"[]", "invalid_body"),
        (b'"events"', "invalid_body"),
        (b"{}", "invalid_body"),
        (b'{"Events": []}', "invalid_body"),
        (b'{"events": null}', "invalid_body"),
        (b'{"events": {}}', "invalid_body"),
        (b'{"events": "x"}', "invalid_body"),
        (b'{"event": {"customer_id": "x"}}', "invalid_body"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else value,
)
def test_a_body_that_is_no_object_with_an_events_array_is_refused_as_a_whole(
    push_client: PushClient, body: bytes, code: str
) -> None:
    answer = push_client.send(body)

    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].keys() == {"code", "message"}
    assert answer.json()["error"]["code"] == code
    assert inbox() == []


def test_a_byte_order_mark_is_no_fault(push_client: PushClient) -> None:
    body = b"\xef\xbb\xbf" + json.dumps({"events": [event()]}).encode()

    assert reasons(push_client.send(body), submitted=1) == {}
