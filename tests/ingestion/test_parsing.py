"""The quick way and the slow one through a batch say the same, and what they say is right."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion import parsing
from ingestion.events import MAX_EVENTS
from ingestion.parsing import Batch, MalformedBody, Rejection, check_batch, last_names
from ingestion.timestamps import hint, parse_timestamp
from tests.ingestion.event_strategies import body_of, events
from tests.ingestion.push_client import event


def reference_check(batch: list[Any]) -> tuple[dict[int, str], list[int]]:
    """The rules as the interface words them, over Python values."""
    errors = {index: error for index, each in enumerate(batch) if (error := error_of(each))}
    return errors, [index for index in range(len(batch)) if index not in errors]


def error_of(one: Any) -> str:
    if not isinstance(one, dict):
        return "event must be an object"
    rules: dict[str, tuple[Callable[[Any], bool], str]] = {
        "customer_id": (is_visible_name(255), "customer_id must be a non-empty string up to 255 characters"),
        "customer_name": (optional(plain), "customer_name must be a string"),
        "metric": (is_visible_name(100), "metric must be a non-empty string up to 100 characters"),
        "unit": (optional(plain), "unit must be a string"),
        "quantity": (number, "quantity must be a number"),
        "dimensions": (optional(labels), "dimensions must be an object of string values"),
        "timestamp": (moment, "timestamp must be a parseable date"),
        "event_id": (optional(is_name(255)), "event_id must be a non-empty string up to 255 characters"),
    }
    for name, (rule, message) in rules.items():
        if not rule(one.get(name)):
            return timestamp_error(one.get(name)) if name == "timestamp" else message
        if name == "unit" and not unit(one.get(name)):
            return "unit must be a string that is not blank"
        if name == "quantity" and not in_range(one[name]):
            return "quantity must be below 10^20 in size, rounded to 12 decimal places"
    return ""


def timestamp_error(value: Any) -> str:
    base = "timestamp must be a parseable date"
    if number(value):
        return f'{base}: a string, such as "2026-11-02T10:00:00Z" or unix seconds in quotes'
    instead = hint(value) if plain(value) else ""
    return f"{base}: {instead}" if instead else base


def plain(value: Any) -> bool:
    return isinstance(value, str) and not any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value)


def is_name(longest: int) -> Callable[[Any], bool]:
    return lambda value: plain(value) and 1 <= len(value) <= longest


def is_visible_name(longest: int) -> Callable[[Any], bool]:
    return lambda value: is_name(longest)(value) and is_visible(value)


def is_visible(text: str) -> bool:
    """Whether a character of a text shows: no white space, no format character, none of the empty letters."""
    return any(
        not sign.isspace() and unicodedata.category(sign) != "Cf"
        for sign in text
        if sign not in "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    )


def unit(value: Any) -> bool:
    return not value or is_visible(value)


def optional(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or rule(value)


def labels(value: Any) -> bool:
    return isinstance(value, dict) and all(plain(key) and plain(each) for key, each in value.items())


def number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def in_range(value: int | Decimal) -> bool:
    return abs(Fraction(value)) < 10**20 and abs(in_twelve_places(value)) < 10**20


def in_twelve_places(value: int | Decimal) -> Fraction:
    """Rounded half-even: as Python rounds a fraction to a whole number."""
    return Fraction(round(Fraction(value) * 10**12), 10**12)


def moment(value: Any) -> bool:
    return plain(value) and parse_timestamp(value) is not None


@given(st.lists(events, max_size=5))
def test_every_event_is_validated_by_the_rules(batch: list[Any]) -> None:
    errors, places = reference_check(batch)

    checked_batch = check_batch(body_of(batch))

    assert {each.index: each.error for each in checked_batch.rejected} == errors
    assert [each.position for each in checked_batch.events] == places
    assert checked_batch.rounded == [
        at for at in places if Fraction(batch[at]["quantity"]) != in_twelve_places(batch[at]["quantity"])
    ]
    for stored in checked_batch.events:
        sent_event = batch[stored.position]
        assert stored.customer_id == sent_event["customer_id"]
        assert Fraction(stored.quantity) == in_twelve_places(sent_event["quantity"])
        assert json.loads(stored.dimensions or "{}") == (sent_event.get("dimensions") or {})


class Never:
    """A decoder that understands nothing, so that everything goes the slow way."""

    def decode(self, body: bytes) -> Any:
        raise msgspec.ValidationError("not in this test")


@given(st.lists(events, max_size=4))
def test_the_quick_way_and_the_slow_way_give_the_same(batch: list[Any]) -> None:
    body = body_of(batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_TYPED", Never())
        one_by_one = check_batch(body)
        patch.setattr(parsing, "_ONE", Never())
        field_by_field = check_batch(body)

    assert check_batch(body) == one_by_one == field_by_field


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from(["A", "B", ""])), max_size=8))
def test_the_last_name_given_in_the_array_counts_and_none_takes_nothing_away(
    pairs: list[tuple[str, str | None]],
) -> None:
    expected: dict[str, str | None] = {}
    for customer, name in pairs:
        expected[customer] = expected.get(customer) if name is None else name

    batch = check_batch(
        body_of([event(customer_id=customer, customer_name=name) for customer, name in pairs])
    )

    assert last_names(batch.events.customer_ids, batch.names) == expected


def test_a_rejected_event_names_no_customer_and_no_metric() -> None:
    batch = check_batch(body_of([event(customer_id="a", metric="m", quantity="x", customer_name="A")]))

    assert batch == Batch(rejected=[Rejection(0, "quantity must be a number")], body=batch.body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"events":[' + b"0," * 3_000_000 + b"0]}",
        b'{"events":[' + b"[]," * 1_000_000 + b"{}]}",
        b'{"x":[' + b"0," * 600_000 + b'0],"\\u0065vents":[' + b'{"x":",]}"},' * 1_500 + b"0]}",
    ],
    ids=["numbers", "arrays", "after another array"],
)
def test_millions_of_tiny_events_are_refused_without_being_made(body: bytes) -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(MalformedBody, match="at most 1,000 events"):
            check_batch(body)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 2 * len(body)


def test_a_long_body_of_few_events_is_taken_the_slow_way_too() -> None:
    long = event(dimensions={str(number): "x" * 1_000 for number in range(1_000)})
    other = {"x": [0] * 400_000, "events": [event(quantity="x"), long]}

    batch = check_batch(json.dumps(other).encode())

    assert [each.position for each in batch.events] == [1]
    assert [each.index for each in batch.rejected] == [0]


SIZE = 4_000_000
DEAR = {
    "open brackets": b"[" * SIZE,
    "nested events": b'{"events":' + b"[" * SIZE,
    "zeros": b'{"events":[' + b"0," * (SIZE // 2) + b"0]}",
    "one event of zeros": b'{"events":[[' + b"0," * (SIZE // 2) + b"0]]}",
    "texts before events": b'{"a":[' + b'"",' * (SIZE // 3) + b'0],"events":[0]}',
    "lists before events": b'{"a":[' + b"[]," * (SIZE // 3) + b'0],"events":[0]}',
    "many fields": b"{" + b'"":0,' * (SIZE // 5) + b'"events":[0]}',
    "lone surrogates": b'{"events":["' + rb"\ud800" * (SIZE // 6) + b'"]}',
    "a quantity of many digits": b'{"events":[{"quantity":' + b"9" * SIZE + b"}]}",
}


@pytest.mark.parametrize("body", DEAR.values(), ids=DEAR)
def test_no_body_costs_more_than_half_a_millisecond_a_kilobyte(body: bytes) -> None:
    """A gzipped body may be a hundred times what was sent, which makes this 50 ms a KB sent."""
    spent = time.process_time()
    with suppress(MalformedBody):
        check_batch(body)
    assert (time.process_time() - spent) * 1_000 < len(body) / 1024 * 0.5 / 2


@pytest.mark.parametrize("count", [0, 1, 999, 1_000, 1_001, 50_000])
def test_events_are_counted_wherever_they_stand(count: int) -> None:
    for event_ in ("0", "[1,2]", '"a,b"'):
        body = '{"a":[1,2],"events":[' + ",".join([event_] * count) + '],"b":0}'
        if count > MAX_EVENTS:
            with pytest.raises(MalformedBody, match="at most 1,000") as error:
                check_batch(body.encode())
            assert error.value.code == "too_many_events"
        else:
            assert check_batch(body.encode()).event_count == count
