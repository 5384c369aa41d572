"""CloudEvents 1.0 as usage events: structured, batched or binary mode, JSON only. Pure.

docs/cloudevents-and-otlp.md describes the mapping of attributes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import Raw, Struct

from ingestion.events import MAX_EVENT_ID
from ingestion.formats.translation import Item, Translation, check_items
from ingestion.parsing import MalformedBody, split_array, utf8_without_lone_surrogates

MAX_NUMBERS: Final = 100
"""Maximum number of numbers in the data of one event; each is a usage event."""

_TEXT_ATTRIBUTES: Final = ("specversion", "id", "source", "type", "subject", "time", "datacontenttype")


class _CloudEvent(Struct):
    """The attributes as their JSON text, empty if absent."""

    specversion: Raw = Raw()
    id: Raw = Raw()
    source: Raw = Raw()
    type: Raw = Raw()
    subject: Raw = Raw()
    time: Raw = Raw()
    datacontenttype: Raw = Raw()
    data: Raw = Raw()
    data_base64: Raw = Raw()


_ATTRIBUTES: Final = frozenset(_CloudEvent.__struct_fields__) | {"dataschema", "traceparent", "tracestate"}
_EVENT = msgspec.json.Decoder(_CloudEvent)
_TEXT = msgspec.json.Decoder(str)
_DATA = msgspec.json.Decoder(dict[str, Raw])
_JSON_TYPE = re.compile(r"[\w.+-]+/([\w.+-]+\+)?json\s*(;.*)?", re.IGNORECASE | re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """How events are read: those without a time have the time of receipt. `numeric_text`: a text that is a number
    counts as one, as in OpenMeter."""

    received_at: datetime
    numeric_text: bool = False


def check_cloudevents(content: bytes, reading: Reading) -> Translation:
    """Check the events of a body in structured or batched mode: an object, or an array of objects. Raises
    MalformedBody."""
    try:
        body = utf8_without_lone_surrogates(content)
        if body.lstrip()[:1] == b"[":
            return check_items([_item(bytes(raw), reading) for raw in split_array(body)], _reword)
        msgspec.json.decode(body, type=Raw)
        return check_items([_item(body, reading)], _reword)
    except RecursionError:
        raise MalformedBody("invalid_json", "The body is nested too deeply.") from None
    except msgspec.DecodeError as error:
        raise MalformedBody("invalid_json", f"The body is not JSON: {error}.") from None


def check_binary_cloudevent(
    headers: Mapping[str, str], content_type: str | None, content: bytes, reading: Reading
) -> Translation:
    """Check the event of a request in binary mode. `headers`: the values of ce-* by attribute. Raises MalformedBody."""
    attributes: dict[str, Any] = {
        name: _header_text(headers[name]) for name in _TEXT_ATTRIBUTES if name in headers
    }
    if content_type:
        attributes["datacontenttype"] = content_type
    event = msgspec.json.encode(attributes)
    if not content or not _is_json_type(attributes.get("datacontenttype", "")):
        problem = _NOT_JSON if content else ""
        item = Item(event, problem=problem) if problem else _item(event, reading)
        return check_items([item], _reword)
    return check_cloudevents(b'%b,"data":%b}' % (event[:-1], _one_json_value(content)), reading)


def _one_json_value(content: bytes) -> bytes:
    try:
        body = utf8_without_lone_surrogates(content)
        msgspec.json.decode(body, type=Raw)
    except RecursionError:
        raise MalformedBody("invalid_json", "The body is nested too deeply.") from None
    except msgspec.DecodeError as error:
        raise MalformedBody("invalid_json", f"The body is not JSON: {error}.") from None
    return body


def _header_text(value: str) -> str:
    """Decode a header's value of the HTTP binding: percent-encoded UTF-8, optionally in double quotes."""
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = re.sub(r"\\(.)", r"\1", text[1:-1])
    return unquote(text)


def _is_json_type(content_type: str) -> bool:
    return not content_type or _JSON_TYPE.fullmatch(content_type.strip()) is not None


_NOT_AN_OBJECT = "event must be an object"
_NOT_JSON = "datacontenttype must be JSON"
_NO_BINARY = "data_base64 must not be sent; send data as a JSON object"
_NOT_DATA = "data must be an object"
_TOO_MANY_NUMBERS = f"data must have at most {MAX_NUMBERS} numbers"
_NO_SPECVERSION = 'specversion must be "1.0"'


def _item(raw: bytes, reading: Reading) -> Item:
    try:
        event = _EVENT.decode(raw)
    except msgspec.ValidationError:
        return Item(raw, problem=_NOT_AN_OBJECT)
    numbers, texts, problem = _numbers_and_texts(event.data, reading)
    problem = _problem(event) or problem
    if problem:
        return Item(raw, problem=problem)
    source, event_id, type_ = _text(event.source), _text(event.id), _text(event.type)
    is_untimed = _is_absent(event.time)
    shared = {
        "customer_id": event.subject,
        "timestamp": reading.received_at.isoformat() if is_untimed else event.time,
        "dimensions": {**texts, "source": source},
    }
    shared = {name: value for name, value in shared.items() if value != Raw()}
    names = {name: (f"{type_}.{name}", f"{source} {event_id}\x1f{name}") for name in numbers}
    # The number named `value` or `quantity` keeps the event's ID and type.
    if main := next((name for name in _QUANTITIES if name in numbers), None):
        names[main] = (type_, f"{source} {event_id}")
    if not numbers:
        numbers, names = {"": Raw(b"1")}, {"": (type_, f"{source} {event_id}")}
    events = [
        msgspec.json.encode(
            {
                **shared,
                "quantity": number,
                "metric": names[name][0],
                "event_id": _short_id(names[name][1]),
            }
        )
        for name, number in numbers.items()
    ]
    return Item(
        raw, events, is_untimed=is_untimed, ignored_fields=_ignored_fields(raw, event.data, numbers, texts)
    )


def _ignored_fields(raw: bytes, data: Raw, *stored: Collection[str]) -> list[str]:
    attributes = [
        name for name, value in _DATA.decode(raw).items() if name not in _ATTRIBUTES and not _is_absent(value)
    ]
    values = {} if _is_absent(data) else _DATA.decode(data)
    of_data = [
        name
        for name, value in values.items()
        if not _is_absent(value) and not any(name in names for names in stored)
    ]
    return [*attributes, *(f"data.{name}" for name in of_data)]


def _problem(event: _CloudEvent) -> str:
    """Return an error that is not covered by the rules of usage events."""
    if _text(event.specversion) != "1.0":
        return _NO_SPECVERSION
    for name in ("id", "source", "type"):
        if not _text(getattr(event, name)):
            return f"{name} must be a non-empty string"
    if not _is_absent(event.data_base64):
        return _NO_BINARY
    if not _is_absent(event.datacontenttype) and not _is_json_type(_text(event.datacontenttype) or "?"):
        return _NOT_JSON
    return ""


_QUANTITIES: Final = ("value", "quantity")


def _numbers_and_texts(data: Raw, reading: Reading) -> tuple[dict[str, Raw], dict[str, str], str]:
    """Return the numbers in an event's data as written, its texts, and its error."""
    if _is_absent(data):
        return {}, {}, ""
    try:
        values = _DATA.decode(data)
    except msgspec.DecodeError:
        return {}, {}, _NOT_DATA
    numbers = {name: value for name, value in values.items() if bytes(value)[:1] in _NUMBER_STARTS}
    texts = {name: _TEXT.decode(value) for name, value in values.items() if bytes(value)[:1] == b'"'}
    if reading.numeric_text:
        text_numbers = {name: number for name, text in texts.items() if (number := _number_in(text))}
        numbers |= {name: Raw(number.encode()) for name, number in text_numbers.items()}
        texts = {name: text for name, text in texts.items() if name not in text_numbers}
    problem = _quantity_problem(values, numbers) or ("" if numbers else _lost_quantity(values, texts))
    if problem or len(numbers) > MAX_NUMBERS:
        return {}, {}, problem or _TOO_MANY_NUMBERS
    return numbers, texts, ""


def _quantity_problem(values: Mapping[str, Raw], numbers: Mapping[str, Raw]) -> str:
    for name in _QUANTITIES:
        is_null = bytes(values.get(name, b"")) == b"null"
        if name in values and name not in numbers and not (is_null and set(_QUANTITIES) & numbers.keys()):
            return f"data.{name} must be a number{', not null' if is_null else ''}"
    return ""


def _lost_quantity(values: Mapping[str, Raw], texts: Mapping[str, str]) -> str:
    """Return the error of data without a number that has something in the place of one: such an event would count 1
    whatever its sender meant."""
    for name, value in values.items():
        if kind := _kind_of_lost(bytes(value)[:1], texts.get(name)):
            field = name[:_SHOWN].replace("\0", "")
            return f'data.{field} must be a number, not {kind}; to count the event itself, send "value": 1'
    return ""


def _kind_of_lost(first: bytes, text: str | None) -> str:
    if text is None:
        return {b"n": "null", b"{": "an object", b"[": "an array"}.get(first, "")
    if not text.strip():
        return "an empty text"
    return f'"{text[:_SHOWN]}"' if _LOOKS_NUMERIC.fullmatch(text.strip()) else ""


def _number_in(text: str) -> str:
    """Return a text that is a number as JSON; empty for any other."""
    match = _NUMERIC.fullmatch(text.strip())
    return f"{match[1]}{match[2] or 0}{match[3] or ''}{match[4]}" if match else ""


_SHOWN = 60
_NUMERIC = re.compile(
    r"(?=[+-]?\.?[0-9]) \+? (-?) 0*+([0-9]*+) (?:\.(?=[eE]|$) | (\.[0-9]+))? ((?:[eE][+-]?[0-9]+)?)",
    re.VERBOSE,
)
# Also with the separators that people write, which no sender can mean as a number of JSON.
_LOOKS_NUMERIC = re.compile(
    r"[+-]? (?: [0-9]+ (?:[.,][0-9]*)? | [.,][0-9]+ | [0-9]{1,3} (?:[,' _\u00a0\u202f][0-9]{3})+ (?:\.[0-9]+)? | [0-9]{1,3} (?:\.[0-9]{3})+,[0-9]+ )"
    r" (?:[eE][+-]?[0-9]+)? | [+-]? (?:nan|inf|infinity)",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER_STARTS = frozenset([b"-", *(b"%d" % digit for digit in range(10))])


def _is_absent(raw: Raw) -> bool:
    return bytes(raw) in (b"", b"null")


def _text(raw: Raw) -> str:
    """Return a text; empty for other values."""
    try:
        return _TEXT.decode(raw)
    except msgspec.DecodeError:
        return ""


def _short_id(event_id: str) -> str:
    """Return source and id as one event id, shortened if they are longer than the id of a usage event."""
    return event_id if len(event_id) <= MAX_EVENT_ID else sha256(event_id.encode()).hexdigest()


_NAMES: Final = {
    "customer_id": "subject",
    "metric": "type (with the name of the number in data)",
    "quantity": "the number in data",
    "timestamp": "time",
    "dimensions": "data and source",
    "event_id": "source and id",
}


def _reword(error: str) -> str:
    field, _, text = error.partition(" ")
    return f"{_NAMES.get(field, field)} {text}"
