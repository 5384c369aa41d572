"""Parses and checks a request's body: JSON in, events to store and rejections out. Pure.

A batch of valid events is read by column (`columnar`), a small one event by event. If that fails each event is parsed
alone, and only those that fail again field by field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from decimal import Decimal
from itertools import takewhile
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from finops.lake.usage.columns import EventColumns, InboxEvent
from ingestion.columnar import decode_strictly, parse_columns
from ingestion.events import (
    EVENT_FIELDS,
    MAX_EVENTS,
    NOT_AN_OBJECT,
    KnownEvent,
    PushedEvent,
    fast_path_event,
    fields_of,
    slow_path_event,
    violation,
)

_COLUMNAR_EVENTS: Final = 16
"""From so many events on, columns take less time than single events."""


MAX_NAMES: Final = 100


class MalformedBody(Exception):
    """A body that is rejected as a whole. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Rejection(Struct, frozen=True):
    """An event that is not stored, by its index in the submitted array, and the reason."""

    index: int
    error: str


class IgnoredFields(Struct):
    """The number of unknown fields of valid events; `names` has that of each name, of the first MAX_NAMES."""

    count: int = 0
    names: dict[str, int] = {}

    def add(self, name: str) -> None:
        self.count += 1
        if name in self.names or len(self.names) < MAX_NAMES:
            self.names[name] = self.names.get(name, 0) + 1


class Batch(Struct):
    """A structurally valid body. `names` and `event_ids` have an entry for each event.

    `rounded` are the indexes of events whose quantity had too many places, ascending. `gauges` are metrics whose last
    value of a day counts, unless the account has them already. `untimed` are the indexes of events whose time is that of
    receipt. `event_id_field` is the name by which the sender knows event_id.
    """

    events: EventColumns = msgspec.field(default_factory=lambda: EventColumns.of([]))
    names: list[str | None] = []
    event_ids: list[str | None] = []
    rejected: list[Rejection] = []
    body: bytes = b""
    rounded: list[int] = []
    gauges: frozenset[str] = frozenset()
    untimed: frozenset[int] = frozenset()
    event_id_field: str = "event_id"
    ignored: IgnoredFields = msgspec.field(default_factory=IgnoredFields)

    @property
    def event_count(self) -> int:
        return len(self.events) + len(self.rejected)

    def excerpts(self, indexes: Sequence[int], longest: int) -> list[str]:
        """Return the beginnings of these events as sent, with anything that looks like a key removed."""
        raw_events = _split(self.body) if indexes else []
        # A character has at most four bytes; 400 more, so that a key at the end of the excerpt is found too.
        texts = (bytes(raw_events[index])[: 4 * longest + 400].decode(errors="ignore") for index in indexes)
        return [_KEY.sub(r"\1_…", text).replace("\0", "")[:longest] for text in texts]


_KEY = re.compile(r"(fuse|fmcp)_\w+")


_LONGEST: Final = 16 * 1024
"""Fields of an event are not counted beyond this length: their names would take a hundred times its memory."""


class _TypedBatch(Struct):
    events: Annotated[list[PushedEvent], Meta(max_length=MAX_EVENTS)]


class _KnownBatch(Struct):
    events: Annotated[list[KnownEvent], Meta(max_length=MAX_EVENTS)]


# An array decoded as an object of up to MAX_EVENTS fields: msgspec stops at the first item beyond. For a list with a
# maximum length, msgspec creates all items before it counts them: 600 MB for `[0,0,0,…]` of 16 MiB.
_Items = msgspec.defstruct(
    "_Items",
    [(f"e{at}", Raw, Raw()) for at in range(MAX_EVENTS)],
    array_like=True,
    forbid_unknown_fields=True,
)
_TOO_LONG = f"Expected `array` of at most length {MAX_EVENTS}"


class _RawBatch(Struct):
    events: _Items  # type: ignore[valid-type]


_KNOWN = msgspec.json.Decoder(_KnownBatch, float_hook=Decimal)
_TYPED = msgspec.json.Decoder(_TypedBatch, float_hook=Decimal)
_RAW_BATCH_DECODER = msgspec.json.Decoder(_RawBatch)
_ARRAY_DECODER = msgspec.json.Decoder(_Items)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_KNOWN_ONE = msgspec.json.Decoder(KnownEvent, float_hook=Decimal)
_ONE = msgspec.json.Decoder(PushedEvent, float_hook=Decimal)


def check_batch(body: bytes, *, event_id_field: str = "") -> Batch:
    """Check the events of a body, each separately. `event_id_field`: the field that has the event_id of events without
    one. Raises MalformedBody. About 3 µs an event, three times that for an invalid one."""
    try:
        body = _utf8(body)
        if not event_id_field:
            return _check(body)
        batch = _check(_with_event_ids(_without_lone_surrogates(body), event_id_field))
        batch.rejected = [_name_own_field(rejection, event_id_field) for rejection in batch.rejected]
        batch.body, batch.event_id_field = body, event_id_field
        return batch
    except RecursionError:
        raise MalformedBody("invalid_json", "The body is nested too deeply.") from None


def _check(body: bytes) -> Batch:
    if _has_no_nul(body) and (parsed := parse_columns(body, at_least=_COLUMNAR_EVENTS)):
        batch = Batch(parsed.events, parsed.names, parsed.event_ids, [], body, parsed.rounded)
        return _count_other_fields(batch) if parsed.has_unknown else batch
    try:
        typed, has_unknown = decode_strictly(_KNOWN, _TYPED, body)
    except (msgspec.DecodeError, ArithmeticError):
        body = _without_lone_surrogates(body)
        decoded = [_decode_or_raw(raw_event) for raw_event in raw_events(body)]
        batch = _check_one_by_one(body, [event for event, _has_unknown in decoded])
        return _count_other_fields(batch) if any(has_unknown for _event, has_unknown in decoded) else batch
    batch = _check_one_by_one(body, typed.events)
    return _count_other_fields(batch) if has_unknown else batch


def _count_other_fields(batch: Batch) -> Batch:
    events = _split(batch.body)
    for position in batch.events.positions:
        for name in unknown_fields(events[position], EVENT_FIELDS):
            batch.ignored.add(name)
    return batch


def unknown_fields(raw_event: Raw, known: Set[str]) -> list[str]:
    """Return the names of an event's other fields; none for a very long event, or for anything but an object."""
    if len(bytes(raw_event)) > _LONGEST:
        return []
    try:
        return [name for name in _FIELDS.decode(raw_event) if name not in known]
    except msgspec.DecodeError:
        return []


def _with_event_ids(body: bytes, field: str) -> bytes:
    """Return the body with this field of each event as its `event_id`, a whole number as its digits."""
    return b'{"events":[%b]}' % b",".join(_with_event_id(raw_event, field) for raw_event in raw_events(body))


def _with_event_id(raw_event: Raw, field: str) -> bytes:
    try:
        fields = _FIELDS.decode(raw_event)
    except msgspec.DecodeError:
        return bytes(raw_event)
    if field not in fields or bytes(fields.get("event_id", b"null")) != b"null":
        return bytes(raw_event)
    own_id = bytes(fields.pop(field))
    fields["event_id"] = Raw(b'"%b"' % own_id if _WHOLE_NUMBER.fullmatch(own_id) else own_id)
    return msgspec.json.encode(fields)


_WHOLE_NUMBER = re.compile(rb"-?[0-9]+")


def _name_own_field(rejection: Rejection, event_id_field: str) -> Rejection:
    field, _, text = rejection.error.partition(" ")
    return Rejection(rejection.index, f"{event_id_field} {text}") if field == "event_id" else rejection


def _has_no_nul(body: bytes) -> bool:
    """Return whether the body has no NUL, which PostgreSQL's text cannot store; JSON has one escape for it. Searching
    one byte is 60 times as fast as six."""
    return b"\\" not in body or b"\\u0000" not in body


def _check_one_by_one(body: bytes, events: Sequence[PushedEvent | Raw]) -> Batch:
    batch, valid_events, has_no_nul = Batch(body=body, rounded=[]), list[InboxEvent](), _has_no_nul(body)
    for index, event in enumerate(events):
        if not has_no_nul or isinstance(event, Raw):
            _check_by_rules(batch, valid_events, index, event)
        elif inbox_event := fast_path_event(index, event, batch.rounded):
            valid_events.append(inbox_event)
            batch.names.append(event.customer_name)
            batch.event_ids.append(event.event_id)
        else:
            _check_by_rules(batch, valid_events, index, event)
    batch.rounded.sort()
    batch.events = EventColumns.of(valid_events)
    return batch


def _check_by_rules(
    batch: Batch, valid_events: list[InboxEvent], index: int, event: PushedEvent | Raw
) -> None:
    fields = fields_of(event)
    problem = NOT_AN_OBJECT if fields is None else violation(fields)
    if fields is None or problem:
        batch.rejected.append(Rejection(index, problem or ""))
    else:
        valid_events.append(slow_path_event(index, fields, batch.rounded))
        batch.names.append(fields["customer_name"])
        batch.event_ids.append(fields["event_id"])


def last_names(customer_ids: Sequence[str], names: Sequence[str | None]) -> dict[str, str | None]:
    """Return the customers of events, each with its last given name or None."""
    if None not in names:
        return dict(zip(customer_ids, names, strict=True))
    last: dict[str, str | None] = {}
    for customer_id, name in zip(customer_ids, names, strict=True):
        if name is not None:
            last[customer_id] = name
        else:
            last.setdefault(customer_id, None)
    return last


def _decode_or_raw(raw_event: Raw) -> tuple[PushedEvent | Raw, bool]:
    """Return the event, or its text if its types are invalid; and whether it has unknown fields."""
    try:
        return decode_strictly(_KNOWN_ONE, _ONE, raw_event)
    except (msgspec.DecodeError, ArithmeticError):
        return raw_event, False


def raw_events(body: bytes) -> list[Raw]:
    """Return the events as JSON texts. Raises MalformedBody for anything but an object with an array of up to 1,000
    events."""
    try:
        return _split(body)
    except msgspec.ValidationError as error:
        if str(error).startswith(_TOO_LONG):
            raise MalformedBody(
                "too_many_events", f"Send at most {MAX_EVENTS:,} events in one request."
            ) from None
        raise MalformedBody(
            "invalid_body", 'The body must be a JSON object with an "events" array.'
        ) from None
    except msgspec.DecodeError as error:
        raise MalformedBody("invalid_json", f"The body is not JSON: {error}.") from None


def split_array(body: bytes) -> list[Raw]:
    """Return the items of a body that is a JSON array of up to 1,000, each as JSON text. Raises MalformedBody."""
    try:
        items = msgspec.structs.astuple(_ARRAY_DECODER.decode(body))
    except msgspec.ValidationError:
        raise MalformedBody(
            "too_many_events", f"Send at most {MAX_EVENTS:,} events in one request."
        ) from None
    return list(takewhile(bytes, items))


def utf8_without_lone_surrogates(body: bytes) -> bytes:
    """Return the body without a byte order mark and with each lone surrogate as a NUL, which no field may have.
    Raises MalformedBody."""
    return _without_lone_surrogates(_utf8(body))


def _split(body: bytes) -> list[Raw]:
    """Return the events of a body, each as JSON text. Raises msgspec's errors, also for too many events."""
    items = msgspec.structs.astuple(_RAW_BATCH_DECODER.decode(body).events)
    # A missing item has the default, an empty text, which no item of the body equals.
    return list(takewhile(bytes, items))


def _utf8(body: bytes) -> bytes:
    """Return the body without a byte order mark; msgspec checks UTF-8 only in strings that it keeps. Raises
    MalformedBody for invalid UTF-8."""
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError as error:
            raise MalformedBody(
                "invalid_json", f"The body is not UTF-8: wrong at byte {error.start}."
            ) from None
    return body.removeprefix(b"\xef\xbb\xbf")


# An escape in a JSON string: a surrogate pair, a lone surrogate, or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _without_lone_surrogates(body: bytes) -> bytes:
    """Replace each lone surrogate by a NUL, which is as invalid in every field: msgspec rejects a body with a lone
    surrogate as invalid JSON."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda escape: b"\\u0000" if escape[1] else escape[0], body)
