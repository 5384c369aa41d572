"""Validation of usage events. Pure: values in, an event to store or an error message out.

The rules exist twice: `fast_path_event` is the fast path for an event whose types msgspec has validated, `violation`
has the complete rules and runs only if the fast path gives up. A test checks that both agree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Annotated, Any, Final
from unicodedata import category

import msgspec
from msgspec import Meta, Raw, Struct

from finops.lake import schema
from finops.lake.usage.columns import InboxEvent
from ingestion.timestamps import hint, parse_timestamp

MAX_EVENTS: Final = 1_000
"""Maximum number of events of a push."""

MAX_CUSTOMER_ID: Final = 255
MAX_METRIC: Final = 100
MAX_EVENT_ID: Final = 255
MAX_DIMENSION_KEY: Final = 255
MAX_DIMENSION_KEYS: Final = schema.MAX_KEYS
"""Maximum number of different dimension keys of a source's events: the columns that fit into a file of the lake.
"""

QUANTITY_LIMIT: Final = 10**20
PLACES: Final = 12

NOT_AN_OBJECT: Final = "event must be an object"
NOT_A_DATE: Final = "timestamp must be a parseable date"
NOT_A_NUMBER: Final = "quantity must be a number"
BLANK_UNIT: Final = "unit must be a string that is not blank"
OUT_OF_RANGE: Final = "quantity must be below 10^20 in size, rounded to 12 decimal places"
LONG_DIMENSION_KEY: Final = f"dimensions must have keys of up to {MAX_DIMENSION_KEY} characters"
TOO_MANY_KEYS: Final = f"dimensions must not raise the source above {MAX_DIMENSION_KEYS:,} different keys"
OTHER_CONTENT: Final = "event_id must not be that of an event with other content"


class PushedEvent(Struct, gc=False):
    """An event with valid types and lengths; lengths count characters. It can be part of no reference cycle."""

    customer_id: Annotated[str, Meta(min_length=1, max_length=MAX_CUSTOMER_ID)]
    metric: Annotated[str, Meta(min_length=1, max_length=MAX_METRIC)]
    quantity: Any
    timestamp: str
    customer_name: str | None = None
    unit: str | None = None
    dimensions: dict[str, str] | None = None
    event_id: Annotated[str, Meta(min_length=1, max_length=MAX_EVENT_ID)] | None = None


EVENT_FIELDS: Final = frozenset(PushedEvent.__struct_fields__)


class KnownEvent(PushedEvent, gc=False, forbid_unknown_fields=True):
    """A `PushedEvent` without other fields."""


class UntypedEvent(Struct):
    """Any object: the fields of an event as their JSON text, empty if absent. Of two fields with one name the last
    counts."""

    customer_id: Raw = Raw()
    customer_name: Raw = Raw()
    metric: Raw = Raw()
    unit: Raw = Raw()
    quantity: Raw = Raw()
    dimensions: Raw = Raw()
    timestamp: Raw = Raw()
    event_id: Raw = Raw()


_encode = msgspec.json.Encoder(order="deterministic").encode


def encode_dimensions(dimensions: Mapping[str, str] | None) -> str | None:
    """Return the JSON of dimensions in a fixed order, so that equal events have equal content; None without."""
    return _encode(dimensions).decode() if dimensions else None


def round_decimal(quantity: Decimal) -> Decimal | None:
    """Round to 12 places, half-even; None at or beyond QUANTITY_LIMIT, also after rounding. Zero has no sign."""
    if not _LOWER_LIMIT < quantity < _LIMIT:
        return None
    rounded_quantity = quantity.quantize(_LAST_PLACE, None, _WIDE)
    if rounded_quantity == quantity:
        return quantity or _ZERO
    return (rounded_quantity or _ZERO) if _LOWER_LIMIT < rounded_quantity < _LIMIT else None


def fast_path_event(position: int, event: PushedEvent, rounded: list[int]) -> InboxEvent | None:
    """Return the event to store, or None if `violation` must decide. The index of a rounded quantity is added to
    `rounded`."""
    customer_id, metric, unit = event.customer_id, event.metric, event.unit
    if not (is_visible(customer_id) and is_visible(metric) and (not unit or is_visible(unit))):
        return None
    moment = parse_timestamp(event.timestamp)
    if moment is None or type(event.quantity) not in (int, Decimal):
        return None
    quantity = round_decimal(Decimal(event.quantity))
    if quantity is None:
        return None
    if quantity != event.quantity:
        rounded.append(position)
    dimensions = encode_dimensions(event.dimensions)
    return InboxEvent(position, moment, customer_id, metric, unit or None, quantity, dimensions)


def is_visible(text: str) -> bool:
    """Return whether a text begins with a visible ASCII character, or has another visible one. Others may be valid."""
    return text >= "!" and (text < "\x7f" or not is_blank(text))


def violation(fields: Mapping[str, Any]) -> str | None:
    """Return the error of the first invalid field, in the spec's order of fields, event_id last; None for a valid
    event."""
    for name, problem in _PROBLEMS.items():
        if message := problem(fields.get(name)):
            return message
    return None


def fields_of(event: PushedEvent | Raw) -> dict[str, Any] | None:
    """Return an event's fields as values; a field of a wrong type has a value that every rule rejects. None if it is
    not an object."""
    if isinstance(event, PushedEvent):
        return msgspec.structs.asdict(event)
    try:
        untyped_event = _UNTYPED_DECODER.decode(event)
    except msgspec.DecodeError:
        return None
    return {name: read(getattr(untyped_event, name)) for name, read in _READ.items()}


def slow_path_event(position: int, fields: Mapping[str, Any], rounded: list[int]) -> InboxEvent:
    """Return the event of fields without a violation. The index of a rounded quantity is added to `rounded`."""
    moment = parse_timestamp(fields["timestamp"])
    assert moment is not None  # noqa: S101 `violation` found none
    quantity, dimensions = _round_quantity(fields["quantity"]), fields["dimensions"]
    if quantity != fields["quantity"]:
        rounded.append(position)
    return InboxEvent(
        position,
        moment,
        fields["customer_id"],
        fields["metric"],
        fields["unit"] or None,
        quantity or _ZERO,  # -0 is 0
        encode_dimensions(dimensions),
    )


_ZERO = Decimal(0)
_LIMIT = Decimal(QUANTITY_LIMIT)
_LOWER_LIMIT = -_LIMIT
_LAST_PLACE = Decimal(1).scaleb(-PLACES)
_WIDE = Context(prec=60, rounding=ROUND_HALF_EVEN)
_TINY = _LAST_PLACE.scaleb(-PLACES)
_ABSENT = (b"", b"null")
_WRONG = object()
_UNTYPED_DECODER = msgspec.json.Decoder(UntypedEvent)
_TEXT = msgspec.json.Decoder(str)
_DIMENSIONS = msgspec.json.Decoder(dict[str, str])


def _decode_with(decoder: msgspec.json.Decoder[Any]) -> Callable[[Raw], Any]:
    def read(raw: Raw) -> Any:
        if bytes(raw) in _ABSENT:
            return None
        try:
            return decoder.decode(raw)
        except msgspec.DecodeError:
            return _WRONG

    return read


def _read_number(raw: Raw) -> Any:
    text = bytes(raw).decode()
    if not text or text[0] not in "-0123456789":
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        digits, _, exponent = text.lower().partition("e")
        if not digits.strip("-0."):
            return _ZERO
        return _TINY if exponent.startswith("-") else Decimal("Infinity")


_JSON_NUMBER = object()


def _read_timestamp(raw: Raw) -> Any:
    return _JSON_NUMBER if bytes(raw)[:1] in (b"-", *_DIGITS) else _read_text(raw)


_DIGITS = tuple(b"%d" % digit for digit in range(10))
_read_text = _decode_with(_TEXT)
_READ: dict[str, Callable[[Raw], Any]] = {
    "customer_id": _decode_with(_TEXT),
    "customer_name": _decode_with(_TEXT),
    "metric": _decode_with(_TEXT),
    "unit": _decode_with(_TEXT),
    "quantity": _read_number,
    "dimensions": _decode_with(_DIMENSIONS),
    "timestamp": _read_timestamp,
    "event_id": _decode_with(_TEXT),
}


_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def is_blank(text: str) -> bool:
    """Return whether a text is invisible: white space of Unicode, format characters (zero-width ones, the soft
    hyphen, a byte order mark) and letters without a glyph. The empty text is blank."""
    return all(sign.isspace() or sign in _FILLERS or category(sign) == "Cf" for sign in text)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _short_text(field: str, longest: int, is_empty: Callable[[str], bool] = is_blank) -> Callable[[Any], str]:
    message = f"{field} must be a non-empty string up to {longest} characters"
    return lambda value: "" if _is_text(value) and len(value) <= longest and not is_empty(value) else message


def _optional_text(field: str) -> Callable[[Any], str]:
    message = f"{field} must be a string"
    return lambda value: "" if value is None or _is_text(value) else message


_unit_text = _optional_text("unit")


def _unit_problem(value: Any) -> str:
    # An empty unit means no unit; a blank one would be an invisible label on pages.
    return _unit_text(value) or (BLANK_UNIT if value and is_blank(value) else "")


def _quantity_problem(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return NOT_A_NUMBER
    if not -QUANTITY_LIMIT < value < QUANTITY_LIMIT:
        return OUT_OF_RANGE
    return "" if -QUANTITY_LIMIT < _round_quantity(value) < QUANTITY_LIMIT else OUT_OF_RANGE


def _round_quantity(quantity: int | Decimal) -> Decimal:
    """Round to 12 places, half-even, exactly: below the limit no digit before the twelfth place is lost."""
    return Decimal(quantity).quantize(_LAST_PLACE, context=_WIDE)


def _dimensions_problem(value: Any) -> str:
    is_valid = value is None or (
        isinstance(value, dict) and all(map(_is_text, value)) and all(map(_is_text, value.values()))
    )
    return "" if is_valid else "dimensions must be an object of string values"


def _timestamp_problem(value: Any) -> str:
    if value is _JSON_NUMBER:
        return f'{NOT_A_DATE}: a string, such as "2026-11-02T10:00:00Z" or unix seconds in quotes'
    if not _is_text(value):
        return NOT_A_DATE
    if parse_timestamp(value) is not None:
        return ""
    instead = hint(value)
    return f"{NOT_A_DATE}: {instead}" if instead else NOT_A_DATE


# No page shows event IDs, so a blank ID is valid.
_event_id_text = _short_text("event_id", MAX_EVENT_ID, is_empty=operator.not_)


def _event_id_problem(value: Any) -> str:
    return "" if value is None else _event_id_text(value)


_PROBLEMS: dict[str, Callable[[Any], str]] = {
    "customer_id": _short_text("customer_id", MAX_CUSTOMER_ID),
    "customer_name": _optional_text("customer_name"),
    "metric": _short_text("metric", MAX_METRIC),
    "unit": _unit_problem,
    "quantity": _quantity_problem,
    "dimensions": _dimensions_problem,
    "timestamp": _timestamp_problem,
    "event_id": _event_id_problem,
}
