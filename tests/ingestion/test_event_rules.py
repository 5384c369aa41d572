"""Every rule about a pushed event, with its message, at the endpoint; test_event_quantities.py has those about quantities."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.ingestion.messages import (
    CUSTOMER,
    DIMENSIONS,
    METRIC,
    NAME,
    NUMBER,
    OBJECT,
    TIMESTAMP,
    UNIT,
)
from tests.ingestion.push_client import MOMENT, PushClient, event, inbox, reasons

each = pytest.mark.parametrize


# customer_id


@each("value", [..., None, "", 7, 1.5, True, [], {}, "x" * 256, "\0", "a\0b"], ids=repr)
def test_a_missing_or_invalid_customer_id_is_rejected(push_client: PushClient, value: Any) -> None:
    assert push_client.error(customer_id=value) == CUSTOMER
    assert inbox() == []


@each(
    "value",
    ["a", "x" * 255, "😀" * 255, " a ", "\u200ba", "Ünïcode 顧客", '"\\\n\t'],
    ids=["one", "255", "emoji", "spaces around", "zero-width before", "any", "odd"],
)
def test_a_customer_id_of_1_to_255_characters_is_taken_as_it_is(push_client: PushClient, value: str) -> None:
    assert push_client.error(customer_id=value) == ""
    assert [row.customer_id for row in inbox()] == [value]


def test_lengths_count_characters_not_bytes(push_client: PushClient) -> None:
    errors = push_client.errors(
        event(customer_id="😀" * 255),
        event(customer_id="😀" * 256),
        event(metric="😀" * 100),
        event(metric="😀" * 101),
    )

    assert errors == {1: CUSTOMER, 3: METRIC}


@each("value", [" ", "\t\n", "\u00a0", "\u3000\u2028", "\u200b", "\ufeff\u00ad", "\u3164"], ids=ascii)
def test_blanks_are_no_customer_no_metric_and_no_unit(push_client: PushClient, value: str) -> None:
    errors = push_client.errors(
        event(customer_id=value),
        event(metric=value),
        event(unit=value),
        event(event_id=value),
        event(unit=""),
    )

    assert errors == {0: CUSTOMER, 1: METRIC, 2: "unit must be a string that is not blank"}


# metric


@each("value", [..., None, "", 7, False, ["requests"], "x" * 101, "a\0"], ids=repr)
def test_a_missing_or_invalid_metric_is_rejected(push_client: PushClient, value: Any) -> None:
    assert push_client.error(metric=value) == METRIC


def test_a_metric_of_100_characters_is_taken(push_client: PushClient) -> None:
    assert push_client.error(metric="x" * 100) == ""


# timestamp; tests/ingestion/test_timestamps.py has the forms


@each(
    "value",
    [
        ...,
        None,
        "",
        "  ",
        True,
        {},
        "yesterday",
        "12:00",
        "-2026-11-20",
        "0000-11-20T12:00:00Z",
        "Nov 2026",
        "2026-02-30",
        "2026-11-20\0",
    ],
    ids=repr,
)
def test_a_missing_or_unparseable_timestamp_is_rejected(push_client: PushClient, value: Any) -> None:
    assert push_client.error(timestamp=value) == TIMESTAMP


def test_a_timestamp_that_may_mean_several_moments_is_rejected_with_an_example(
    push_client: PushClient,
) -> None:
    errors = push_client.errors(
        event(timestamp="2026-11-20 12:00 IST"),
        event(timestamp=1_763_640_000),
        event(timestamp=-1.5),
        event(),
    )

    number = f'{TIMESTAMP}: a string, such as "2026-11-02T10:00:00Z" or unix seconds in quotes'
    assert errors == {
        0: f"{TIMESTAMP}: the zone 'IST' may mean several offsets, or none; "
        "write the offset, as in 2026-11-02T10:00:00+01:00",
        1: number,
        2: number,
    }


@each(
    ("text", "moment"),
    [
        (MOMENT, datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("2026-11-20T12:00:00.123456+02:00", datetime(2026, 11, 20, 10, 0, 0, 123456, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("Fri, 20 Nov 2026 12:00:00 GMT", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("November 20, 2026 3:05 pm", datetime(2026, 11, 20, 15, 5, tzinfo=UTC)),
        ("2026-11-20 13:00 Europe/Berlin", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("1795176000", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("1795176000000", datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ("1970-01-01T00:00:00Z", datetime(1970, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_a_timestamp_of_any_year_is_stored_in_utc(
    push_client: PushClient, text: str, moment: datetime
) -> None:
    assert push_client.error(timestamp=text) == ""
    assert [row.event_time for row in inbox()] == [moment]


# Optional fields


@each("value", [7, True, [], {}, "a\0"], ids=repr)
def test_an_optional_text_of_another_type_is_rejected(push_client: PushClient, value: Any) -> None:
    assert push_client.error(unit=value) == UNIT
    assert push_client.error(customer_name=value) == NAME


@each(
    "value",
    [
        7,
        "eu",
        ["eu"],
        True,
        {"region": 1},
        {"region": None},
        {"region": ["eu"]},
        {"a": {"b": "c"}},
        {"a\0": "b"},
        {"a": "\0"},
    ],
    ids=repr,
)
def test_dimensions_must_be_an_object_of_string_values(push_client: PushClient, value: Any) -> None:
    assert push_client.error(dimensions=value) == DIMENSIONS


def test_optional_fields_may_be_null_or_left_out(push_client: PushClient) -> None:
    nothing = event(unit=None, customer_name=None, dimensions=None)

    assert push_client.errors(nothing, event(), event(dimensions={}, unit="")) == {}
    assert [(row.unit, row.dimensions) for row in inbox()] == [(None, None)] * 3


def test_unit_and_dimensions_are_carried_through(push_client: PushClient) -> None:
    dimensions = {"region": "eu-west-1", "Plan": "pro", "": "", "größe": '😀\t"\\'}

    assert push_client.error(unit="requests", dimensions=dimensions) == ""

    (row,) = inbox()
    assert (row.unit, row.dimensions) == ("requests", dimensions)


def test_unknown_fields_are_ignored(push_client: PushClient) -> None:
    assert push_client.error(event_type="api", nested={"a": [1, {"b": None}]}) == ""
    answer = push_client.send(json.dumps({"source": "x", "events": [event()], "more": [1, 2]}))
    assert reasons(answer, submitted=1) == {}


# The event as a whole


@each(
    "value",
    [None, 7, "x", True, [], [event()]],
    ids=["null", "number", "text", "bool", "list", "list of events"],
)
def test_an_event_must_be_an_object(push_client: PushClient, value: Any) -> None:
    assert push_client.errors(event(), value) == {1: OBJECT}


def test_the_first_violation_in_the_order_of_the_fields_is_reported(push_client: PushClient) -> None:
    fields: list[tuple[str, Any, Any]] = [
        ("customer_id", "", "c"),
        ("customer_name", 1, "x"),
        ("metric", "", "m"),
        ("unit", 1, "u"),
        ("quantity", "1", 1),
        ("dimensions", 1, {}),
        ("timestamp", "", MOMENT),
    ]
    mended = {name: wrong for name, wrong, _right in fields}
    errors = []
    for name, _wrong, right in fields:
        errors.append(push_client.errors(mended)[0])
        mended[name] = right

    assert errors == [CUSTOMER, NAME, METRIC, UNIT, NUMBER, DIMENSIONS, TIMESTAMP]
    assert push_client.errors(mended) == {}


def test_a_lone_surrogate_is_a_violation_of_the_field_that_holds_it(push_client: PushClient) -> None:
    def error(**fields: Any) -> str:
        body = json.dumps({"events": [event(**fields)]}).replace("@", "\\ud800")
        return reasons(push_client.send(body), submitted=1).get(0, "")

    assert error(customer_id="a@") == CUSTOMER
    assert error(customer_name="@") == NAME
    assert error(metric="@@") == METRIC
    assert error(unit="@") == UNIT
    assert error(dimensions={"a": "@"}) == DIMENSIONS
    assert error(dimensions={"@": "a"}) == DIMENSIONS
    assert error(timestamp=MOMENT + "@") == TIMESTAMP
    assert error(unknown="@") == ""


def test_a_surrogate_pair_is_the_character_that_it_means(push_client: PushClient) -> None:
    body = json.dumps({"events": [event(customer_id="😀"), event(customer_id="@")]}).replace("@", "\\udc00")

    assert reasons(push_client.send(body), submitted=2) == {1: CUSTOMER}
    assert [row.customer_id for row in inbox()] == ["😀"]


def test_a_backslash_before_the_letters_of_a_surrogate_is_text(push_client: PushClient) -> None:
    assert push_client.errors(
        event(customer_id="\\ud800"), event(customer_id=1), event(customer_id="\\u0000")
    ) == {1: CUSTOMER}
    assert [row.customer_id for row in inbox()] == ["\\ud800", "\\u0000"]


def test_the_last_of_two_fields_with_one_name_counts(push_client: PushClient) -> None:
    text = json.dumps(event())
    doubled = [
        text.replace('"quantity": 1', '"quantity": "x", "quantity": 2'),
        text.replace('"quantity": 1', '"quantity": 2, "quantity": "x"'),
        text.replace('"quantity": 1', '"quantity": 2, "quantity": 3'),
    ]

    answer = push_client.send('{"events": [' + ",".join(doubled) + "]}")

    assert reasons(answer, submitted=3) == {1: NUMBER}
    assert [row.quantity for row in inbox()] == [2, 3]
