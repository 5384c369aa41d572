"""The OpenAPI document of the push endpoint.

Kept by hand beside the rules that it takes its limits from: drf-spectacular reads serializers, and there are none. A
test compares its errors and headers with the door's, and sends it what the document allows and forbids.
"""

from __future__ import annotations

import functools

from django.conf import settings

from finops.lib.openapi_reference import Schema
from ingestion.events import MAX_CUSTOMER_ID, MAX_DIMENSION_KEY, MAX_DIMENSION_KEYS, MAX_EVENT_ID, MAX_METRIC
from ingestion.parsing import MAX_EVENTS

_EVENT: Schema = {
    "type": "object",
    "description": "Fields that are not named here are ignored. Lengths count Unicode characters.",
    "required": ["customer_id", "metric", "quantity", "timestamp"],
    "properties": {
        "customer_id": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_CUSTOMER_ID,
            "description": "Your own name for the customer. Not of blanks only.",
        },
        "customer_name": {
            "type": ["string", "null"],
            "description": "Stored with the customer; the last one given wins.",
        },
        "metric": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_METRIC,
            "description": "What is counted. Not of blanks only.",
        },
        "unit": {
            "type": ["string", "null"],
            "description": "A label; it does not change what is added up. Not of blanks only.",
        },
        "quantity": {
            "type": "number",
            "exclusiveMinimum": -(10**20),
            "exclusiveMaximum": 10**20,
            "description": "Exact decimal to 12 places, rounded half-even where it has more; negative is a correction.",
        },
        "dimensions": {
            "type": ["object", "null"],
            "additionalProperties": {"type": "string"},
            "propertyNames": {"maxLength": MAX_DIMENSION_KEY},
            "description": f"What else to slice by. A source has up to {MAX_DIMENSION_KEYS:,} different keys.",
        },
        "timestamp": {
            "type": "string",
            "description": "When it happened: ISO 8601, RFC 2822, unix seconds or milliseconds as text, or any text that names year, month "
            "and day. A zone is an offset or an IANA name; without one it is UTC.",
            "examples": ["2026-11-20T12:00:00Z"],
        },
        "event_id": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_EVENT_ID,
            "description": "Your name for this event. The same event sent again within 35 days is accepted and stored once.",
        },
    },
}


def _object(**properties: Schema) -> Schema:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


_RESULT = _object(
    accepted={
        "type": "integer",
        "minimum": 0,
        "description": "With those that were stored by an earlier push.",
    },
    rejected={"type": "integer", "minimum": 0},
    errors={
        "type": "array",
        "description": "One for each rejected event, ascending by index.",
        "items": _object(
            index={"type": "integer", "minimum": 0, "description": "Place in `events`."},
            error={"type": "string"},
        ),
    },
)

_ERROR = _object(
    error=_object(
        code={"type": "string", "description": "For programs."},
        message={"type": "string", "description": "For people."},
    )
)


def _count(description: str) -> Schema:
    return {"description": description, "schema": {"type": "integer", "minimum": 0}}


_LIMITS: Schema = {
    "RateLimit-Limit": _count("Requests that the account may make in any 60 seconds."),
    "RateLimit-Remaining": _count("How many of them are left."),
    "RateLimit-Reset": _count("Seconds until the oldest that counts no longer does."),
}
_OF_A_PUSH: Schema = {
    "Usage-Batch-Id": {
        "description": "Names this push in the console, where it can be voided. Not on a dry run.",
        "schema": {"type": "string", "format": "uuid"},
    },
    "Usage-Rejected": _count("Rejected events."),
    "Usage-Duplicates": _count(
        "Accepted events that an earlier push, or an earlier place of this one, has stored."
    ),
    "Usage-Rounded": _count("Accepted events whose quantity was rounded to 12 decimal places."),
    "Idempotent-Replayed": {
        "description": "This is the answer of the first request under this Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}
_RETRY_AFTER: Schema = {"Retry-After": _count("Seconds to wait.")}

_ERRORS: dict[str, tuple[str, Schema]] = {
    "400": (
        "Not JSON, no `events` array, more events than allowed, or a header or parameter of another form.",
        _LIMITS,
    ),
    "401": (
        "The key is missing, unknown, revoked or replaced.",
        {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}},
    ),
    "405": ("Only POST.", {"Allow": {"description": "POST", "schema": {"type": "string"}}, **_LIMITS}),
    "413": ("The body is too large; send smaller batches.", _LIMITS),
    "415": (
        "Content-Encoding is neither gzip nor identity.",
        {"Accept-Encoding": {"description": "What is understood.", "schema": {"type": "string"}}, **_LIMITS},
    ),
    "422": ("The Idempotency-Key was sent with another body.", _LIMITS),
    "429": ("Too many requests of the account.", {**_RETRY_AFTER, **_LIMITS}),
    "500": ("Our fault; the message has an incident number.", _LIMITS),
    "503": ("Storage is not available; send it again.", {**_RETRY_AFTER, **_LIMITS}),
}

_PARAMETERS: list[Schema] = [
    {
        "name": "dry_run",
        "in": "query",
        "description": "With true: the same answer, and nothing is stored.",
        "schema": {"type": "string", "enum": ["true", "false", "1", "0"]},
    },
    {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Your name for this request. Sent again within 24 hours it gets the same answer and is stored once.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
    {
        "name": "Content-Encoding",
        "in": "header",
        "schema": {"type": "string", "enum": ["gzip", "identity"]},
    },
]


@functools.cache
def document() -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Usage ingestion",
            "version": "1",
            "description": "Push product usage by customer: what cost is divided by.",
        },
        "servers": [{"url": settings.PUBLIC_URL}],
        "security": [{"usage_key": []}],
        "paths": {"/api/usage/events": {"post": _operation()}},
        "components": {
            "securitySchemes": {
                "usage_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The key of a usage source: fuse_…",
                }
            },
            "schemas": {"UsageEvent": _EVENT, "IngestionResult": _RESULT, "Error": _ERROR},
        },
    }


def _operation() -> Schema:
    return {
        "operationId": "pushUsageEvents",
        "summary": "Push usage events",
        "description": "Each event is checked on its own: a wrong one is reported by its index, the others are stored. "
        f"At most {settings.USAGE_MAX_BODY_BYTES:,} bytes, before and after inflating.",
        "parameters": _PARAMETERS,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["events"],
                        "properties": {
                            "events": {
                                "type": "array",
                                "maxItems": MAX_EVENTS,
                                "items": {"$ref": "#/components/schemas/UsageEvent"},
                            }
                        },
                    }
                }
            },
        },
        "responses": {
            "200": _response("What became of each event.", "IngestionResult", {**_OF_A_PUSH, **_LIMITS}),
            **{
                status: _response(description, "Error", headers)
                for status, (description, headers) in _ERRORS.items()
            },
        },
    }


def _response(description: str, schema: str, headers: Schema) -> Schema:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "headers": headers, "content": content}
