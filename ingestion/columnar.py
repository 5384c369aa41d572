"""The fast path of a batch: JSON to columns, checked by column. Pure.

It parses what `events.fast_path_event` parses, with the same results, in half the time: repeated dimensions are read
once, and Arrow reads times and quantities. None where a rule must decide an event; a test checks that both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta, Raw, Struct
from msgspec.json import Decoder

from finops.lake import schema
from finops.lake.usage.columns import MOMENT, EventColumns, moments
from ingestion.events import (
    MAX_EVENTS,
    QUANTITY_LIMIT,
    PushedEvent,
    encode_dimensions,
    is_visible,
    round_decimal,
)
from ingestion.timestamps import parse_timestamp

T = TypeVar("T")


class _Event(PushedEvent, gc=False):
    """A `PushedEvent` with its dimensions as JSON. Numbers with a fraction or an exponent are bytes."""

    dimensions: Raw = Raw()  # type: ignore[assignment] # msgspec decodes by the type of the subclass


class _KnownEvent(_Event, gc=False, forbid_unknown_fields=True):
    """An `_Event` without other fields."""


class ParsedColumns(NamedTuple):
    """Valid events with an entry of `names` and `event_ids` each; `rounded` are the indexes of rounded quantities.
    `has_unknown`: whether an event has an unknown field."""

    events: EventColumns
    names: list[str | None]
    event_ids: list[str | None]
    rounded: list[int]
    has_unknown: bool


class _Batch(Struct):
    events: Annotated[list[_Event], Meta(max_length=MAX_EVENTS)]


class _KnownBatch(Struct):
    events: Annotated[list[_KnownEvent], Meta(max_length=MAX_EVENTS)]


_KNOWN: Final = msgspec.json.Decoder(_KnownBatch, float_hook=str.encode)
_BATCH: Final = msgspec.json.Decoder(_Batch, float_hook=str.encode)
_DIMENSIONS: Final = msgspec.json.Decoder(dict[str, str] | None)
_ABSENT: Final = b""
_FIRST_MOMENT: Final = -62_135_596_800_000_000
_LAST_MOMENT: Final = 253_402_300_799_999_999
"""Microseconds from 1970 to the beginning of the year 1 and to the end of the year 9999."""


_UNKNOWN_FIELD: Final = "Object contains unknown field"


def decode_strictly(known: Decoder[Any], other: Decoder[T], text: bytes | Raw) -> tuple[T, bool]:
    """Decode a text by `known`, which forbids unknown fields, or else by `other`; and return whether it has some. Raises
    msgspec's errors."""
    try:
        return known.decode(text), False
    except msgspec.ValidationError as error:
        if not str(error).startswith(_UNKNOWN_FIELD):
            raise
    return other.decode(text), True


def parse_columns(body: bytes, *, at_least: int) -> ParsedColumns | None:
    """Return the events of a body without NUL; None for fewer than `at_least`, and if the rules must decide."""
    try:
        batch, has_unknown = decode_strictly(_KNOWN, _BATCH, body)
    except msgspec.DecodeError:
        return None
    events: Sequence[_Event] = batch.events
    if len(events) < at_least:
        return None
    rounded: list[int] = []
    customer_ids, metrics = [event.customer_id for event in events], [event.metric for event in events]
    units = [event.unit or None for event in events]
    texts: set[str] = {*customer_ids, *metrics, *filter(None, units)}
    if not all(map(is_visible, texts)):
        return None
    quantities = _quantities([event.quantity for event in events], rounded)
    times = None if quantities is None else _times([event.timestamp for event in events])
    dimensions = None if times is None else _dimensions([event.dimensions for event in events])
    if dimensions is None:
        return None
    dimension_texts, keys = dimensions
    columns = EventColumns(
        positions=range(len(events)),
        times=times,
        customer_ids=customer_ids,
        metrics=metrics,
        units=units,
        quantities=quantities,
        dimensions=dimension_texts,
        keys=frozenset(keys),
    )
    names = [event.customer_name for event in events]
    return ParsedColumns(columns, names, [event.event_id for event in events], rounded, has_unknown)


def _dimensions(values: Sequence[Raw]) -> tuple[list[str | None], set[str]] | None:
    """Return the dimensions of each event as text, and the keys of all."""
    raw_values = list(map(bytes, values))
    texts: dict[bytes, str | None] = {_ABSENT: None}
    keys: set[str] = set()
    try:
        for raw in set(raw_values) - {_ABSENT}:
            dimensions = _DIMENSIONS.decode(raw)
            texts[raw] = encode_dimensions(dimensions)
            keys.update(dimensions or ())
    except msgspec.DecodeError:
        return None
    return list(map(texts.__getitem__, raw_values)), keys


def _times(texts: Sequence[str]) -> pa.Array | None:
    # Arrow reads only ISO 8601 with a zone, as `parse_timestamp` does; without a zone the time is UTC's.
    with_zone = [text if text[-1:] == "Z" or text[-6:-5] in ("+", "-") else f"{text}Z" for text in texts]
    try:
        times = pa.array(with_zone, pa.string()).cast(MOMENT)
    except pa.ArrowInvalid:
        parsed = list(map(parse_timestamp, texts))
        return None if None in parsed else moments(parsed)  # type: ignore[arg-type]
    span = pc.min_max(times.view(pa.int64())).as_py()
    return times if span["min"] >= _FIRST_MOMENT and span["max"] <= _LAST_MOMENT else None


def _quantities(values: Sequence[Any], rounded: list[int]) -> pa.Array | None:
    if not set(map(type, values)) <= {int, bytes}:
        return None
    texts = [value if type(value) is bytes else b"%d" % value for value in values]
    try:
        quantities = pa.array(texts, pa.string()).cast(schema.QUANTITY)
    except pa.ArrowInvalid:
        return _rounded_quantities(texts, rounded)
    span = pc.min_max(quantities).as_py()
    return quantities if span["min"] > -QUANTITY_LIMIT and span["max"] < QUANTITY_LIMIT else None


def _rounded_quantities(texts: Sequence[bytes], rounded: list[int]) -> pa.Array | None:
    quantities = []
    for position, text in enumerate(texts):
        try:
            quantity = Decimal(text.decode())
        except InvalidOperation:
            return None
        rounded_quantity = round_decimal(quantity)
        if rounded_quantity is None:
            return None
        if rounded_quantity != quantity:
            rounded.append(position)
        quantities.append(rounded_quantity)
    return pa.array(quantities, schema.QUANTITY)
