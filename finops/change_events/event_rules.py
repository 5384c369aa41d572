"""Validation of change events. Pure: values in, an event to store or an error sentence out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from finops.change_events.models import MAX_ACTOR, MAX_EVENT_ID, MAX_TITLE, MAX_URL, ChangeEvent
from finops.costs.dimension_names import EXTENSION, plain_name
from finops.costs.dimensions import registry
from finops.lib.errors import nearest_choices
from finops.lib.sentences import quote
from ingestion.events import is_blank
from ingestion.timestamps import hint, parse_timestamp

MAX_DIMENSIONS: Final = 20
MAX_VALUES: Final = 50
MAX_VALUE: Final = 255

KINDS: Final = tuple(ChangeEvent.Kind.values)
NOT_AN_OBJECT: Final = "event must be an object"
NOT_A_DATE: Final = "occurred_at must be a parseable date"
NOT_A_SCOPE: Final = "scope must be an object of strings, or arrays of strings"
OTHER_CONTENT: Final = "event_id must not be that of an event with other content"


class NewEvent(Struct, frozen=True):
    """An event to store. Without `occurred_at` it takes the time of receipt; an empty `event_id` means none."""

    position: int
    occurred_at: datetime | None
    kind: str
    title: str
    actor: str
    url: str
    scope: dict[str, list[str]]
    event_id: str


def with_occurred_at(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields with `timestamp` as `occurred_at` if that is missing: pushes of usage use that name, and an event
    without a time would take the time of receipt."""
    if fields.get("occurred_at") is not None or fields.get("timestamp") is None:
        return fields
    return {**fields, "occurred_at": fields["timestamp"]}


def violation(fields: Mapping[str, Any]) -> str | None:
    """Return the error of the first invalid field, in the order of the API reference; None for a valid event."""
    for name, problem in _PROBLEMS.items():
        if message := problem(fields.get(name)):
            return message
    return None


def new_event(position: int, fields: Mapping[str, Any]) -> NewEvent:
    """Return the event with these fields, which must have no violation."""
    moment = fields.get("occurred_at")
    return NewEvent(
        position=position,
        occurred_at=None if moment is None else parse_timestamp(moment),
        kind=fields["kind"],
        title=" ".join(fields["title"].split()),
        actor=(fields.get("actor") or "").strip(),
        url=(fields.get("url") or "").strip(),
        scope=_scope_of(fields.get("scope") or {}),
        event_id=fields.get("event_id") or "",
    )


def dimension_name(name: str) -> str | None:
    """The name of a dimension as in cost answers, parsed with tolerance (`Usage Type`, `tag:env`); None for none."""
    stripped = name.strip()
    prefix, colon, key = stripped.partition(":")
    families = {kind.name for kind in registry.kinds() if kind.is_family}
    if colon and f"{prefix.strip().lower()}:" in families:
        return f"{prefix.strip().lower()}:{key}" if key.strip() else None
    if stripped[: len(EXTENSION)].lower() == EXTENSION and stripped[len(EXTENSION) :]:
        return stripped
    plain = plain_name(stripped)
    return plain if plain in _plain_names() else None


def is_web_address(text: str) -> bool:
    """Whether a page may link to the address: http or https, with a host, without user, password and blanks."""
    if len(text) > MAX_URL or _BLANKS.search(text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]")


def _plain_names() -> list[str]:
    return [kind.name for kind in registry.kinds() if not kind.is_family]


def _scope_of(scope: Mapping[str, Any]) -> dict[str, list[str]]:
    values_by_dimension: dict[str, list[str]] = {}
    for name, value in scope.items():
        values = [value] if isinstance(value, str) else value
        own_values = values_by_dimension.setdefault(dimension_name(name) or name, [])
        own_values.extend(
            text for text in dict.fromkeys(each.strip() for each in values) if text not in own_values
        )
    return values_by_dimension


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _required_text(field: str, longest: int) -> Callable[[Any], str]:
    message = f"{field} must be a non-empty string up to {longest} characters"
    return lambda value: "" if _is_text(value) and len(value) <= longest and not is_blank(value) else message


def _occurred_at_problem(value: Any) -> str:
    if value is None:
        return ""
    if not _is_text(value):
        return f'{NOT_A_DATE}: a string, such as "2026-11-02T10:00:00Z"' if _is_number(value) else NOT_A_DATE
    if parse_timestamp(value) is not None:
        return ""
    instead = hint(value)
    return f"{NOT_A_DATE}: {instead}" if instead else NOT_A_DATE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind_problem(value: Any) -> str:
    return "" if isinstance(value, str) and value in KINDS else f"kind must be one of {', '.join(KINDS)}"


def _actor_problem(value: Any) -> str:
    is_valid = value is None or (_is_text(value) and len(value) <= MAX_ACTOR)
    return "" if is_valid else f"actor must be a string up to {MAX_ACTOR} characters"


def _url_problem(value: Any) -> str:
    is_valid = value is None or (_is_text(value) and (not value or is_web_address(value.strip())))
    return (
        ""
        if is_valid
        else f"url must be an http or https address up to {MAX_URL:,} characters, without a password"
    )


def _scope_problem(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, dict):
        return NOT_A_SCOPE
    if len(value) > MAX_DIMENSIONS:
        return f"scope must have up to {MAX_DIMENSIONS} dimensions"
    for name, values in value.items():
        if message := _dimension_problem(name) or _values_problem(values):
            return message
    return ""


def _dimension_problem(name: str) -> str:
    if not _is_text(name) or len(name) > MAX_VALUE:
        return f"scope must have dimensions of up to {MAX_VALUE} characters"
    if dimension_name(name) is not None:
        return ""
    close = nearest_choices(name, [*_plain_names(), "tag:<key>", "cost_tag:<key>"])
    nearest = f". Nearest: {', '.join(close)}" if close else ""
    return f"scope must name dimensions of cost, and {quote(name[:60])} is none{nearest}"


def _values_problem(values: Any) -> str:
    some = [values] if isinstance(values, str) else values
    if not isinstance(some, list) or not all(map(_is_text, some)):
        return NOT_A_SCOPE
    if not 1 <= len(some) <= MAX_VALUES:
        return f"scope must have 1 to {MAX_VALUES} values a dimension"
    if any(len(each) > MAX_VALUE or is_blank(each) for each in some):
        return f"scope must have non-empty values up to {MAX_VALUE} characters"
    return ""


def _event_id_problem(value: Any) -> str:
    is_valid = value is None or (_is_text(value) and 1 <= len(value) <= MAX_EVENT_ID)
    return "" if is_valid else f"event_id must be a non-empty string up to {MAX_EVENT_ID} characters"


_PROBLEMS: Final[dict[str, Callable[[Any], str]]] = {
    "occurred_at": _occurred_at_problem,
    "kind": _kind_problem,
    "title": _required_text("title", MAX_TITLE),
    "actor": _actor_problem,
    "url": _url_problem,
    "scope": _scope_problem,
    "event_id": _event_id_problem,
}
