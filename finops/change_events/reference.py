"""The reference of `/api/events` for its page, from the OpenAPI document and the validation rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from finops.change_events.event_rules import (
    MAX_DIMENSIONS,
    MAX_VALUES,
    NOT_AN_OBJECT,
    OTHER_CONTENT,
    violation,
)
from finops.change_events.models import MAX_ACTOR, MAX_EVENT_ID, MAX_TITLE
from finops.change_events.openapi import PATH, document
from finops.lib.openapi_reference import Schema, fields_of, headers_of, parameter_of, status_of
from ingestion.reference import Reference, RejectionMessage

_VALID: Final[dict[str, Any]] = {"kind": "deployment", "title": "t"}
_WRONG: Final[tuple[tuple[str, Any, str], ...]] = (
    ("occurred_at", "soon", "without year, month or day, or ambiguous; the message states what to write"),
    ("kind", "deploy", "missing, or another word"),
    ("title", "t" * (MAX_TITLE + 1), "missing, empty, blank, too long, or not a string"),
    ("actor", "a" * (MAX_ACTOR + 1), "too long, or neither a string nor null"),
    ("url", "ftp://example.com", "another scheme, no host, a password, too long, or not a string"),
    ("scope", [], "another type, or a value that is neither a string nor an array of strings"),
    ("scope", {"servise": "x"}, "not a dimension; the message names the nearest"),
    (
        "scope",
        {f"tag:{place}": "x" for place in range(MAX_DIMENSIONS + 1)},
        "more dimensions",
    ),
    ("scope", {"service": ["x"] * (MAX_VALUES + 1)}, "no value, or more values"),
    ("scope", {"service": " "}, "an empty, blank or too long value"),
    ("event_id", "i" * (MAX_EVENT_ID + 1), "empty, too long, or neither a string nor null"),
)


def reference() -> Reference:
    """Everything that the page lists."""
    whole = document()
    post: Schema = whole["paths"][PATH]["post"]
    return Reference(
        fields=fields_of(whole["components"]["schemas"]["ChangeEvent"]),
        parameters=[parameter_of(schema) for schema in post["parameters"]],
        headers=headers_of(post["responses"]["200"]),
        statuses=[status_of(code, response) for code, response in post["responses"].items()],
        messages=list(_messages()),
    )


def _messages() -> Iterator[RejectionMessage]:
    yield RejectionMessage(NOT_AN_OBJECT, "another type")
    for field, value, when in _WRONG:
        yield RejectionMessage(violation({**_VALID, field: value}) or "", when)
    yield RejectionMessage(
        OTHER_CONTENT, "an event of the source with this event_id and other content is stored"
    )
