"""Parses a request's body into events to store and events to reject. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from finops.change_events.event_rules import NOT_AN_OBJECT, NewEvent, new_event, violation, with_occurred_at
from ingestion.parsing import (
    IgnoredFields,
    MalformedBody,
    Rejection,
    raw_events,
    unknown_fields,
    utf8_without_lone_surrogates,
)


class EventBatch(msgspec.Struct, frozen=True):
    """A structurally valid body; each event is validated separately. `rejected` is ascending by index."""

    events: Sequence[NewEvent]
    rejected: Sequence[Rejection]
    ignored: IgnoredFields


class _UntypedEvent(msgspec.Struct):
    """Any object: the event's fields as JSON text, empty if missing. If a name occurs twice, the last field counts."""

    occurred_at: msgspec.Raw = msgspec.Raw()
    kind: msgspec.Raw = msgspec.Raw()
    title: msgspec.Raw = msgspec.Raw()
    actor: msgspec.Raw = msgspec.Raw()
    url: msgspec.Raw = msgspec.Raw()
    scope: msgspec.Raw = msgspec.Raw()
    event_id: msgspec.Raw = msgspec.Raw()
    timestamp: msgspec.Raw = msgspec.Raw()


_FIELDS: Final = frozenset(_UntypedEvent.__struct_fields__)
_OBJECT: Final = msgspec.json.Decoder(_UntypedEvent)
_WRONG: Final = object()
"""A value that every rule rejects."""


def check_events(body: bytes) -> EventBatch:
    """Validate each event of a body. Raises MalformedBody."""
    try:
        items = raw_events(utf8_without_lone_surrogates(body))
        checked = [_check(position, item) for position, item in enumerate(items)]
    except RecursionError:
        raise MalformedBody("invalid_json", "The body is nested too deeply.") from None
    events = [each for each in checked if isinstance(each, NewEvent)]
    ignored = IgnoredFields()
    for event in events:
        for name in unknown_fields(items[event.position], _FIELDS):
            ignored.add(name)
    return EventBatch(events, [each for each in checked if isinstance(each, Rejection)], ignored)


def _check(position: int, item: msgspec.Raw) -> NewEvent | Rejection:
    try:
        event = _OBJECT.decode(item)
    except msgspec.DecodeError:
        return Rejection(position, NOT_AN_OBJECT)
    fields = with_occurred_at({name: _value(getattr(event, name)) for name in event.__struct_fields__})
    problem = violation(fields)
    return Rejection(position, problem) if problem else new_event(position, fields)


def _value(raw: msgspec.Raw) -> Any:
    if not bytes(raw):
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return _WRONG
