"""How events wait: whatever their number and form, they come back as they were given."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.lake.usage import payload
from finops.lake.usage.columns import EventColumns, InboxEvent
from finops.lake.usage.payload import FEW_EVENTS, Payload, StoredPayload, decode, encode
from tests.examples import examples

NOW = datetime(2026, 11, 21, 3, 0, 0, 7, tzinfo=UTC)
BATCH = uuid.UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff")

ROWS = (
    "9ad7ff00006d606b010930a137a163a16dc0a3312e35d7ff00006d606b010930d92436663936313966662d386238362d3464"
    "30312d623432642d30306366346663393634666600c09ad7ff00006d606b010930a137a163a16dc0a3312e35d7ff00006d60"
    "6b010930d92436663936313966662d386238362d346430312d623432642d30306366346663393634666601c0"
)
RECORD_BATCH = (
    "a2ffffffff9802000014000100d00c0016000600050008000c000c13008103040018000000a00d00000200f0080a0018000c"
    "00040008000a000000bc01000010000000201b00030200131a08000f02000213011600040800040200031000138410001388"
    "100004580013a810000402000410000430002230021a000430001350100004020004100004300013d8200004300013f81000"
    "1404310012030900043000138810000402000f1000060348002488052a0002020005100003c8002288061800040200041000"
    "0470002210071a001380910022900b1000040200041000138011001310a001032f00230018100004500006c00106020000c0"
    "010400010402000f1000250438000408000402000f1000250438007f07ac708ec060060800e6004801003302005702008302"
    "00e001005b02001a00002302530800000009cc0100230200f701a20d0000000e0000000f009c03a211000000120000001300"
    "e8039015000000160000001728024300000019b403f7021b0000001c0000001d0000001e0000001fd8031f3701000c0fa800"
    "751f6301000c0fa800751f6d01000c00a8000f02007a4098f73e5d89020402000f1000ffdd0f8005e504f80000f702f00a24"
    "000000480000006c00000090000000b4000000d8000000fc2805f05101000044010000680100008c010000b0010000d40100"
    "00f80100001c020000400200006402000088020000ac020000d0020000f4020000180300003c0300006003000084030000a8"
    "030000cc030000f003000014040000380400005c04000080f905ff1800000036663936313966662d386238362d346430312d"
    "623432642d3030636634666339363466662400ffffffff4d0085040007080f900a650f020078500000000000"
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=9)
events = st.builds(
    InboxEvent,
    position=st.integers(0, 2**31 - 1),
    event_time=st.datetimes(timezones=st.just(UTC)),
    customer_id=texts,
    metric=texts,
    unit=st.none() | texts,
    quantity=st.decimals(-(10**20) + 1, 10**20 - 1, places=12, allow_nan=False)
    | st.integers(-(10**20) + 1, 10**20 - 1).map(Decimal),
    dimensions=st.sampled_from([None, "{}", '{"plan":"pro"}', '{"Plan":"","é\\"":"\\n"}']),
)


def encode_events(given_: list[InboxEvent]) -> Payload:
    return encode(source_id=7, batch=BATCH, received_at=NOW, events=EventColumns.of(given_))


def stored_payloads(*values: Payload) -> list[StoredPayload]:
    return [StoredPayload(value.data, value.size, value.events) for value in values]


def as_row(event: InboxEvent) -> dict[str, Any]:
    return {
        **{name: getattr(event, name) for name in event.__struct_fields__},
        "source": "7",
        "batch": str(BATCH),
        "received_at": NOW,
        "day": event.event_time.date(),
    }


def some(count: int, **fields: Any) -> list[InboxEvent]:
    whole = {"event_time": NOW, "customer_id": "c", "metric": "m", "unit": None, "quantity": Decimal("1.5")}
    return [InboxEvent(**{**whole, "position": at, "dimensions": None, **fields}) for at in range(count)]


@settings(max_examples=examples(60), deadline=None)
@given(given_=st.lists(events, min_size=1, max_size=2 * FEW_EVENTS))
def test_events_come_back_as_they_were_given(given_: list[InboxEvent]) -> None:
    value = encode_events(given_)
    assert (value.size is None) <= (len(given_) < FEW_EVENTS)
    assert decode(stored_payloads(value)).to_pylist() == [as_row(event) for event in given_]
    days = [event.event_time.date() for event in given_]
    assert (value.events, value.first_day, value.last_day) == (len(given_), min(days), max(days))


def test_values_of_rows_joined_are_rows_again_and_are_next_to_record_batches() -> None:
    single, pair, many = (encode_events(some(count, customer_id=f"c{count}")) for count in (1, 2, FEW_EVENTS))
    assert (single.size, pair.size) == (None, None)
    assert many.size
    joined = StoredPayload(single.data + pair.data, None, 3)
    rows = decode([*stored_payloads(many), joined])
    assert rows.column("customer_id").to_pylist() == [*["c32"] * FEW_EVENTS, "c1", "c2", "c2"]


def test_few_events_of_many_bytes_are_no_rows() -> None:
    value = encode_events(some(2, customer_id="x" * payload.FEW_BYTES))
    assert value.size
    assert len(value.data) < payload.FEW_BYTES, "they are compressed"
    assert decode(stored_payloads(value)).num_rows == 2


def test_only_the_requested_columns_are_given() -> None:
    assert decode(stored_payloads(encode_events(some(40))), ["metric"]).column_names == [
        "metric",
        "event_time",
        "day",
    ]


def test_days_are_those_of_utc() -> None:
    east = datetime(2026, 1, 2, 8, 59, tzinfo=timezone(timedelta(hours=9)))
    for count in (1, 100):
        value = encode_events(some(count, event_time=east))
        assert (value.first_day, value.last_day) == (date(2026, 1, 1), date(2026, 1, 1))
        assert set(decode(stored_payloads(value))["day"].to_pylist()) == {date(2026, 1, 1)}


def test_the_keys_of_all_events_are_next_to_the_value() -> None:
    every = [*some(1, dimensions='{"plan":"pro","a":"b"}'), *some(40), *some(1, dimensions='{"Plan":"x"}')]
    assert encode_events(every).keys == ["Plan", "a", "plan"]
    assert encode_events(some(3)).keys == []


@pytest.mark.parametrize("count", [1, FEW_EVENTS], ids=["rows", "batch"])
def test_a_quantity_that_no_segment_holds_is_refused_at_once(count: int) -> None:
    """Else every question of the account would fail on it."""
    with pytest.raises(pa.ArrowInvalid):
        encode_events(some(count, quantity=Decimal("0.1234567890123")))


def test_values_that_wait_during_an_upgrade_can_still_be_read() -> None:
    """Bytes as an earlier version wrote them. When this fails, a migration must convert what waits."""
    rows, batch = (
        StoredPayload(bytes.fromhex(ROWS), None, 2),
        StoredPayload(bytes.fromhex(RECORD_BATCH), 3904, 32),
    )
    assert decode([rows]).to_pylist() == [as_row(event) for event in some(2)]
    assert decode([batch]).to_pylist() == [as_row(event) for event in some(32)]
