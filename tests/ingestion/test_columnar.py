"""The columns of a batch have the same events as one event after the other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingestion import parsing
from ingestion.columnar import parse_columns
from ingestion.parsing import Batch, check_batch
from ingestion.timestamps import parse_timestamp
from tests.ingestion.event_strategies import body_of, events, valid
from tests.ingestion.push_client import event

_DIGITS = st.sampled_from("0123456789")
_PARTS = st.sampled_from(
    [
        *("2026-11-20", "2026-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2026-W47-5", "20261120"),
        *("T", "t", " ", "  ", "T12", "T12:00", "T12:00:00", " 23:59:59", "T24:00:00", "T23:59:60", "T1200"),
        *(".5", ".123456", ".1234567", ".", ",5"),
        *(
            "Z",
            "z",
            " Z",
            "UTC",
            "+01:00",
            "-23:59",
            "+24:00",
            "+01:60",
            "+0100",
            "+01",
            "-00:00",
            "\u221201:00",
        ),
    ]
)
near_iso = st.lists(_PARTS, min_size=1, max_size=4).map("".join) | st.text(
    st.sampled_from("0123456789-:T .Z+"), max_size=25
)


def one_by_one(body: bytes) -> Batch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_COLUMNAR_EVENTS", 10_000)
        return check_batch(body)


def by_column(body: bytes) -> Batch:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_COLUMNAR_EVENTS", 1)
        return check_batch(body)


@given(st.lists(valid, min_size=1, max_size=6) | st.lists(events, max_size=4))
def test_columns_have_the_events_of_the_rules(batch: list[Any]) -> None:
    body = body_of(batch)
    assert by_column(body) == one_by_one(body)


@given(st.lists(near_iso, min_size=1, max_size=3))
@example(["2026-11-20T12:00:00Z", "2026-11-20 12:00:00", "2026-11-20T12:00:00.123456+01:00"])
@example(["0001-01-01T00:00:00+01:00"])
@example(["9999-12-31T23:59:59-01:00"])
def test_arrow_reads_no_time_otherwise_than_the_rules(texts: list[str]) -> None:
    body = json.dumps({"events": [event(timestamp=text) for text in texts]}).encode()
    parsed = parse_columns(body, at_least=1)
    times = list(map(parse_timestamp, texts))
    if parsed is None:
        assert None in times
    else:
        assert parsed.events.times.to_pylist() == times


@pytest.mark.parametrize(
    "quantity", ["1", "-0.0", "1e3", "0.30000000000000004", "99999999999999999999.5", "1E-15"]
)
def test_usual_numbers_are_read_by_column(quantity: str) -> None:
    body = json.dumps({"events": [event(quantity=7)] * 2}).replace("7", quantity, 1).encode()
    parsed = parse_columns(body, at_least=1)
    assert parsed is not None
    assert (list(parsed.events), parsed.rounded) == (list(one_by_one(body).events), one_by_one(body).rounded)


@pytest.mark.parametrize(
    "fields",
    [
        {"quantity": "7"},
        {"quantity": True},
        {"quantity": 10**20},
        {"customer_id": " "},
        {"metric": "\u200b"},
        {"unit": " "},
        {"dimensions": {"plan": 1}},
        {"dimensions": "x"},
        {"timestamp": "Nov 2026"},
    ],
)
def test_an_invalid_event_of_many_is_left_to_the_rules(fields: dict[str, Any]) -> None:
    batch = [*[event()] * 20, event(**fields)]
    body = json.dumps({"events": batch}).encode()
    assert parse_columns(body, at_least=1) is None
    checked = check_batch(body)
    assert ([each.index for each in checked.rejected], len(checked.events)) == ([20], 20)


def test_a_selection_of_columns_has_the_keys_of_its_events() -> None:
    batch = [
        event(dimensions={"plan": "pro"}),
        event(dimensions=None),
        event(dimensions={"region": "eu"}),
    ] * 8
    columns = check_batch(json.dumps({"events": batch}).encode()).events
    some = columns.take([1, 2])
    assert columns.keys == {"plan", "region"}
    assert some.keys == {"region"}
    assert list(some) == [list(columns)[1], list(columns)[2]]
