"""Which quantities an event may have, and how they arrive, at the endpoint."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random

import pytest

from tests.ingestion.messages import (
    METRIC,
    NUMBER,
    RANGE,
)
from tests.ingestion.push_client import PushClient, event, inbox, reasons

each = pytest.mark.parametrize


def with_quantity(text: str) -> str:
    """An event whose quantity stands in the JSON exactly as given."""
    return json.dumps({"events": [event(quantity="@")]}).replace('"@"', text)


def quantity_error(push_client: PushClient, text: str) -> str:
    return reasons(push_client.send(with_quantity(text)), submitted=1).get(0, "")


@each("text", ['"5"', "true", "false", "null", "[]", "{}", '""', '"NaN"'])
def test_a_quantity_that_is_no_json_number_is_rejected(push_client: PushClient, text: str) -> None:
    assert quantity_error(push_client, text) == NUMBER


def test_a_missing_quantity_is_rejected(push_client: PushClient) -> None:
    assert push_client.error(quantity=...) == NUMBER


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
def test_a_quantity_arrives_exactly(push_client: PushClient, text: str, stored: str) -> None:
    answer = push_client.send(with_quantity(text))

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
    push_client: PushClient, text: str, stored: str
) -> None:
    answer = push_client.send(with_quantity(text))

    assert reasons(answer, submitted=1) == {}
    assert answer["Usage-Rounded"] == "1"
    assert [row.quantity for row in inbox()] == [Decimal(stored)]


def test_rounded_events_are_counted_among_the_accepted_ones(push_client: PushClient) -> None:
    """As most languages write floats; each by the digits sent, and a rejected one is not rounded."""
    numbers = [Random(seed).random() * 100 for seed in range(300)]
    long = [number for number in numbers if len(repr(number).partition(".")[2]) > 12]

    answer = push_client.push(
        *(event(quantity=number) for number in numbers), event(quantity=0.1 + 0.2, metric="")
    )

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
def test_a_quantity_beyond_its_range_is_rejected_with_its_own_message(
    push_client: PushClient, text: str
) -> None:
    assert quantity_error(push_client, text) == RANGE


def test_a_negative_quantity_is_a_correction_and_counts(push_client: PushClient) -> None:
    assert push_client.errors(event(quantity=3), event(quantity=-3)) == {}
    assert sum(row.quantity for row in inbox()) == 0


@each("text", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x10"])
def test_a_number_that_json_does_not_know_makes_the_body_no_json(push_client: PushClient, text: str) -> None:
    answer = push_client.send(with_quantity(text))

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_json"
