"""Every rule about a pushed event, with its message, at the endpoint."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from tests.ingestion.pushing import MOMENT, Door, event, inbox, reasons

CUSTOMER = "customer_id must be a non-empty string up to 255 characters"
METRIC = "metric must be a non-empty string up to 100 characters"
NUMBER = "quantity must be a number"
RANGE = "quantity must be below 10^20 in size with at most 12 decimal places"
TIMESTAMP = "timestamp must be a parseable date"
DIMENSIONS = "dimensions must be an object of string values"
UNIT = "unit must be a string"
NAME = "customer_name must be a string"
OBJECT = "event must be an object"

each = pytest.mark.parametrize


def with_quantity(text: str) -> str:
    """An event whose quantity stands in the JSON exactly as given."""
    return json.dumps({"events": [event(quantity="@")]}).replace('"@"', text)


def quantity_error(door: Door, text: str) -> str:
    return reasons(door.send(with_quantity(text)), submitted=1).get(0, "")


# customer_id


@each("value", [..., None, "", 7, 1.5, True, [], {}, "x" * 256, "\0", "a\0b"], ids=repr)
def test_a_missing_or_invalid_customer_id_is_rejected(door: Door, value: Any) -> None:
    assert door.error(customer_id=value) == CUSTOMER
    assert inbox() == []


@each(
    "value",
    ["a", "x" * 255, "😀" * 255, " a ", "\u200ba", "Ünïcode 顧客", '"\\\n\t'],
    ids=["one", "255", "emoji", "spaces around", "zero-width before", "any", "odd"],
)
def test_a_customer_id_of_1_to_255_characters_is_taken_as_it_is(door: Door, value: str) -> None:
    assert door.error(customer_id=value) == ""
    assert [row.customer_id for row in inbox()] == [value]


def test_lengths_count_characters_not_bytes(door: Door) -> None:
    found = door.errors(
        event(customer_id="😀" * 255),
        event(customer_id="😀" * 256),
        event(metric="😀" * 100),
        event(metric="😀" * 101),
    )

    assert found == {1: CUSTOMER, 3: METRIC}


@each("value", [" ", "\t\n", "\u00a0", "\u3000\u2028", "\u200b", "\ufeff\u00ad", "\u3164"], ids=ascii)
def test_blanks_are_no_customer_no_metric_and_no_unit(door: Door, value: str) -> None:
    found = door.errors(
        event(customer_id=value),
        event(metric=value),
        event(unit=value),
        event(event_id=value),
        event(unit=""),
    )

    assert found == {0: CUSTOMER, 1: METRIC, 2: "unit must be a string that is not blank"}


# metric


@each("value", [..., None, "", 7, False, ["requests"], "x" * 101, "a\0"], ids=repr)
def test_a_missing_or_invalid_metric_is_rejected(door: Door, value: Any) -> None:
    assert door.error(metric=value) == METRIC


def test_a_metric_of_100_characters_is_taken(door: Door) -> None:
    assert door.error(metric="x" * 100) == ""


# quantity


@each("text", ['"5"', "true", "false", "null", "[]", "{}", '""', '"NaN"'])
def test_a_quantity_that_is_no_json_number_is_rejected(door: Door, text: str) -> None:
    assert quantity_error(door, text) == NUMBER


def test_a_missing_quantity_is_rejected(door: Door) -> None:
    assert door.error(quantity=...) == NUMBER


@each(
    ("text", "stored"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1", "1"),
        ("-7.25", "-7.25"),
        ("0.1", "0.1"),
        ("1e3", "1000"),
        ("1E-12", "0.000000000001"),
        ("0.000000000001", "0.000000000001"),
        ("-0.000000000001", "-0.000000000001"),
        ("1.5000000000000000000", "1.5"),
        ("12345678901234567.123456789012", "12345678901234567.123456789012"),
        ("99999999999999999999", "99999999999999999999"),
        ("99999999999999999999.999999999999", "99999999999999999999.999999999999"),
        ("-99999999999999999999.999999999999", "-99999999999999999999.999999999999"),
        ("9.9e19", "99000000000000000000"),
        ("0e999999999999999999", "0"),
        ("0e99999999999999999999", "0"),
    ],
)
def test_a_quantity_arrives_exactly(door: Door, text: str, stored: str) -> None:
    answer = door.send(with_quantity(text))

    assert reasons(answer, submitted=1) == {}
    assert answer["Usage-Rounded"] == "0"
    assert [row.quantity for row in inbox()] == [Decimal(stored)]


@each(
    ("text", "stored"),
    [
        ("0.30000000000000004", "0.3"),
        ("63.42171846286374", "63.421718462864"),
        ("-0.0000000000015", "-0.000000000002"),
        ("0.0000000000005", "0"),
        ("0.0000000000025", "0.000000000002"),
        ("0.00000000000250000000000000000000000000000000000000000000000000000000001", "0.000000000003"),
        ("1e-13", "0"),
        ("-1e-13", "0"),
        ("1e-999999999999999999", "0"),
        ("-1e-99999999999999999999", "0"),
        ("99999999999999999999.9999999999994", "99999999999999999999.999999999999"),
    ],
)
def test_a_quantity_of_more_than_12_places_is_rounded_half_even_and_counted(
    door: Door, text: str, stored: str
) -> None:
    answer = door.send(with_quantity(text))

    assert reasons(answer, submitted=1) == {}
    assert answer["Usage-Rounded"] == "1"
    assert [row.quantity for row in inbox()] == [Decimal(stored)]


def test_rounded_events_are_counted_among_the_accepted_ones(door: Door) -> None:
    """As most languages write floats; each by the digits sent, and a rejected one is not rounded."""
    numbers = [Random(seed).random() * 100 for seed in range(300)]
    long = [number for number in numbers if len(repr(number).partition(".")[2]) > 12]

    answer = door.push(*(event(quantity=number) for number in numbers), event(quantity=0.1 + 0.2, metric=""))

    assert reasons(answer, submitted=301) == {300: METRIC}
    assert answer["Usage-Rounded"] == str(len(long))
    assert sorted(row.quantity for row in inbox()) == sorted(
        round(Decimal(repr(number)), 12) for number in numbers
    )


@each(
    "text",
    [
        "100000000000000000000",
        "-100000000000000000000",
        "100000000000000000000.000000000000",
        "1e20",
        "1e400",
        "-1e999999999",
        "1e99999999999999999999",
        "9" * 5000,
        "99999999999999999999.9999999999995",
        "-99999999999999999999.9999999999999",
    ],
    ids=lambda text: text[:40],
)
def test_a_quantity_beyond_its_range_is_rejected_with_its_own_message(door: Door, text: str) -> None:
    assert quantity_error(door, text) == RANGE


def test_a_negative_quantity_is_a_correction_and_counts(door: Door) -> None:
    assert door.errors(event(quantity=3), event(quantity=-3)) == {}
    assert sum(row.quantity for row in inbox()) == 0


@each("text", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x10"])
def test_a_number_that_json_does_not_know_makes_the_body_no_json(door: Door, text: str) -> None:
    answer = door.send(with_quantity(text))

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_json"


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
def test_a_missing_or_unparseable_timestamp_is_rejected(door: Door, value: Any) -> None:
    assert door.error(timestamp=value) == TIMESTAMP


def test_a_timestamp_that_may_mean_several_moments_is_rejected_with_an_example(door: Door) -> None:
    found = door.errors(
        event(timestamp="2026-11-20 12:00 IST"),
        event(timestamp=1_763_640_000),
        event(timestamp=-1.5),
        event(),
    )

    number = f'{TIMESTAMP}: a string, such as "2026-11-02T10:00:00Z" or unix seconds in quotes'
    assert found == {
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
def test_a_timestamp_of_any_year_is_stored_in_utc(door: Door, text: str, moment: datetime) -> None:
    assert door.error(timestamp=text) == ""
    assert [row.event_time for row in inbox()] == [moment]


# Optional fields


@each("value", [7, True, [], {}, "a\0"], ids=repr)
def test_an_optional_text_of_another_type_is_rejected(door: Door, value: Any) -> None:
    assert door.error(unit=value) == UNIT
    assert door.error(customer_name=value) == NAME


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
def test_dimensions_must_be_an_object_of_string_values(door: Door, value: Any) -> None:
    assert door.error(dimensions=value) == DIMENSIONS


def test_optional_fields_may_be_null_or_left_out(door: Door) -> None:
    nothing = event(unit=None, customer_name=None, dimensions=None)

    assert door.errors(nothing, event(), event(dimensions={}, unit="")) == {}
    assert [(row.unit, row.dimensions) for row in inbox()] == [(None, None)] * 3


def test_unit_and_dimensions_are_carried_through(door: Door) -> None:
    dimensions = {"region": "eu-west-1", "Plan": "pro", "": "", "größe": '😀\t"\\'}

    assert door.error(unit="requests", dimensions=dimensions) == ""

    (row,) = inbox()
    assert (row.unit, row.dimensions) == ("requests", dimensions)


def test_unknown_fields_are_ignored(door: Door) -> None:
    assert door.error(event_type="api", nested={"a": [1, {"b": None}]}) == ""
    answer = door.send(json.dumps({"source": "x", "events": [event()], "more": [1, 2]}))
    assert reasons(answer, submitted=1) == {}


# The event as a whole


@each(
    "value",
    [None, 7, "x", True, [], [event()]],
    ids=["null", "number", "text", "bool", "list", "list of events"],
)
def test_an_event_must_be_an_object(door: Door, value: Any) -> None:
    assert door.errors(event(), value) == {1: OBJECT}


def test_the_first_violation_in_the_order_of_the_fields_is_reported(door: Door) -> None:
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
    found = []
    for name, _wrong, right in fields:
        found.append(door.errors(mended)[0])
        mended[name] = right

    assert found == [CUSTOMER, NAME, METRIC, UNIT, NUMBER, DIMENSIONS, TIMESTAMP]
    assert door.errors(mended) == {}


def test_a_lone_surrogate_is_a_violation_of_the_field_that_holds_it(door: Door) -> None:
    def error(**fields: Any) -> str:
        body = json.dumps({"events": [event(**fields)]}).replace("@", "\\ud800")
        return reasons(door.send(body), submitted=1).get(0, "")

    assert error(customer_id="a@") == CUSTOMER
    assert error(customer_name="@") == NAME
    assert error(metric="@@") == METRIC
    assert error(unit="@") == UNIT
    assert error(dimensions={"a": "@"}) == DIMENSIONS
    assert error(dimensions={"@": "a"}) == DIMENSIONS
    assert error(timestamp=MOMENT + "@") == TIMESTAMP
    assert error(unknown="@") == ""


def test_a_surrogate_pair_is_the_character_that_it_means(door: Door) -> None:
    body = json.dumps({"events": [event(customer_id="😀"), event(customer_id="@")]}).replace("@", "\\udc00")

    assert reasons(door.send(body), submitted=2) == {1: CUSTOMER}
    assert [row.customer_id for row in inbox()] == ["😀"]


def test_a_backslash_before_the_letters_of_a_surrogate_is_text(door: Door) -> None:
    assert door.errors(event(customer_id="\\ud800"), event(customer_id=1), event(customer_id="\\u0000")) == {
        1: CUSTOMER
    }
    assert [row.customer_id for row in inbox()] == ["\\ud800", "\\u0000"]


def test_of_two_fields_of_one_name_the_last_counts(door: Door) -> None:
    text = json.dumps(event())
    doubled = [
        text.replace('"quantity": 1', '"quantity": "x", "quantity": 2'),
        text.replace('"quantity": 1', '"quantity": 2, "quantity": "x"'),
        text.replace('"quantity": 1', '"quantity": 2, "quantity": 3'),
    ]

    answer = door.send('{"events": [' + ",".join(doubled) + "]}")

    assert reasons(answer, submitted=3) == {1: NUMBER}
    assert [row.quantity for row in inbox()] == [2, 3]


# The batch


def test_an_invalid_event_is_rejected_alone_and_the_others_are_accepted(door: Door) -> None:
    answer = door.push(event(), event(quantity="x"), event(), event(customer_id=""), event())

    assert answer.json() == {
        "accepted": 3,
        "rejected": 2,
        "errors": [{"index": 1, "error": NUMBER}, {"index": 3, "error": CUSTOMER}],
    }
    assert [row.position for row in inbox()] == [0, 2, 4]


def test_a_thousand_invalid_events_are_all_reported(door: Door) -> None:
    found = door.errors(*[event(quantity="x")] * 1_000)

    assert found == dict.fromkeys(range(1_000), NUMBER)
    assert inbox() == []


def test_a_thousand_valid_events_are_all_stored(door: Door) -> None:
    assert door.errors(*[event(quantity=number) for number in range(1_000)]) == {}
    assert [row.quantity for row in inbox()] == list(range(1_000))


def test_a_thousand_and_one_events_are_refused_as_a_whole(door: Door) -> None:
    answer = door.push(*[event()] * 1_001)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "too_many_events"
    assert "1,000" in answer.json()["error"]["message"]
    assert inbox() == []


def test_an_empty_array_is_answered_with_zeros(door: Door) -> None:
    answer = door.push()

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
    door: Door, body: bytes, code: str
) -> None:
    answer = door.send(body)

    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].keys() == {"code", "message"}
    assert answer.json()["error"]["code"] == code
    assert inbox() == []


def test_a_byte_order_mark_is_no_fault(door: Door) -> None:
    body = b"\xef\xbb\xbf" + json.dumps({"events": [event()]}).encode()

    assert reasons(door.send(body), submitted=1) == {}
