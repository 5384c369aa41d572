"""The OpenAPI document of the push endpoint.

Maintained by hand with the rules whose limits it uses: drf-spectacular reads serializers, and there are none. A test
compares its errors and headers with the endpoint's, and sends the endpoint what the document allows and forbids.
"""

from __future__ import annotations

import functools
from typing import Final

from django.conf import settings

from finops.lib.formats.locales import reader_formats
from finops.lib.formats.numbers import filesize
from finops.lib.openapi_reference import Schema
from ingestion import openapi_formats
from ingestion.events import (
    MAX_CUSTOMER_ID,
    MAX_DIMENSION_KEY,
    MAX_DIMENSION_KEYS,
    MAX_EVENT_ID,
    MAX_EVENTS,
    MAX_METRIC,
)

PATH: Final = "/api/usage/events"
_EVENT: Schema = {
    "type": "object",
    "description": "Other fields are ignored and counted in Usage-Ignored-Fields. Lengths are in Unicode characters.",
    "required": ["customer_id", "metric", "quantity", "timestamp"],
    "properties": {
        "customer_id": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_CUSTOMER_ID,
            "description": "Your own ID of the customer. Must not be blank.",
        },
        "customer_name": {
            "type": ["string", "null"],
            "description": "Stored with the customer; the latest one wins.",
        },
        "metric": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_METRIC,
            "description": "Name of the metric. Must not be blank.",
        },
        "unit": {
            "type": ["string", "null"],
            "description": "A label; quantities are not converted. Must not be blank.",
        },
        "quantity": {
            "type": "number",
            "exclusiveMinimum": -(10**20),
            "exclusiveMaximum": 10**20,
            "description": (
                "Exact decimal with up to 12 places (rounded half-even beyond); negative is a correction."
            ),
        },
        "dimensions": {
            "type": ["object", "null"],
            "additionalProperties": {"type": "string"},
            "propertyNames": {"maxLength": MAX_DIMENSION_KEY},
            "description": (f"Further dimensions. A source has up to {MAX_DIMENSION_KEYS:,} different keys."),
        },
        "timestamp": {
            "type": "string",
            "description": "Event time: ISO 8601, RFC 2822, Unix seconds or milliseconds as text, or "
            "any text with year, month and day. The zone is an offset or an IANA "
            "name; default UTC.",
            "examples": ["2026-11-20T12:00:00Z"],
        },
        "event_id": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_EVENT_ID,
            "description": (
                "Your ID of this event. Events sent again within 35 days are accepted and stored once."
            ),
        },
    },
}


def _object(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these fields."""
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
        "description": "Including events stored by an earlier push.",
    },
    rejected={"type": "integer", "minimum": 0},
    errors={
        "type": "array",
        "description": "One per rejected event, by index.",
        "items": _object(
            index={"type": "integer", "minimum": 0, "description": "Place in `events`."},
            error={"type": "string"},
        ),
    },
)

_RESULT["properties"]["warnings"] = {
    "type": "array",
    "description": "On a dry run only: what to check in accepted events.",
    "items": {"type": "string"},
}

_ERROR = _object(
    error=_object(
        code={"type": "string", "description": "For programs."},
        message={"type": "string", "description": "For people."},
    )
)


def _count(description: str) -> Schema:
    return {"description": description, "schema": {"type": "integer", "minimum": 0}}


_LIMITS: Schema = {
    "RateLimit-Limit": _count("Requests allowed per account in any 60 seconds."),
    "RateLimit-Remaining": _count("Requests left."),
    "RateLimit-Reset": _count("Seconds until the oldest request expires."),
}
_OF_A_PUSH: Schema = {
    "Usage-Batch-Id": {
        "description": "ID of this push in the console, where it can be voided. Not on a dry run.",
        "schema": {"type": "string", "format": "uuid"},
    },
    "Usage-Rejected": _count("Rejected events."),
    "Usage-Duplicates": _count("Accepted events already stored by an earlier push or earlier in this one."),
    "Usage-Rounded": _count("Accepted events whose quantity was rounded to 12 decimal places."),
    "Usage-Unlikely-Times": _count("Accepted events before 2000 or more than a day ahead."),
    "Usage-Ignored-Fields": _count("Fields of accepted events that are not stored."),
    "Idempotent-Replayed": {
        "description": "The response of the first request with this Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}
_RETRY_AFTER: Schema = {"Retry-After": _count("Seconds to wait.")}

_ERRORS: dict[str, tuple[str, Schema]] = {
    "400": (
        "Not JSON, no `events` array, too many events, or an invalid header or parameter.",
        _LIMITS,
    ),
    "401": (
        "The key is missing, unknown, revoked or replaced.",
        {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}},
    ),
    "403": ("The account is suspended by the operator of the server.", {}),
    "405": ("Use POST.", {"Allow": {"description": "POST", "schema": {"type": "string"}}, **_LIMITS}),
    "413": ("The body is too large. Send smaller batches.", _LIMITS),
    "415": (
        "Content-Encoding is none of gzip, deflate, zstd and identity.",
        {"Accept-Encoding": {"description": "Supported values.", "schema": {"type": "string"}}, **_LIMITS},
    ),
    "422": ("The Idempotency-Key was sent with another body.", _LIMITS),
    "429": ("Too many requests of the account.", {**_RETRY_AFTER, **_LIMITS}),
    "500": ("Server error, with an incident number.", _LIMITS),
    "503": ("Storage is not available. Retry.", {**_RETRY_AFTER, **_LIMITS}),
}

_PARAMETERS: list[Schema] = [
    {
        "name": "dry_run",
        "in": "query",
        "description": "If true, validates and returns the same response without storing.",
        "schema": {"type": "string", "enum": ["true", "false", "1", "0"]},
    },
    {
        "name": "Idempotency-Key",
        "in": "header",
        "description": (
            "Your ID of this request. Retries within 24 hours get the same response and are stored once."
        ),
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
    {
        "name": "Content-Encoding",
        "in": "header",
        "schema": {"type": "string", "enum": ["gzip", "deflate", "zstd", "identity"]},
    },
]


@functools.cache
def document() -> Schema:
    operation = _operation()
    errors = dict(operation["responses"])
    accepted = errors.pop("200")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Usage ingestion",
            "version": "1",
            "description": "Push product usage by customer, the denominator of unit cost.",
        },
        "servers": [{"url": settings.PUBLIC_URL}],
        "security": [{"usage_key": []}],
        "paths": {
            PATH: {"post": operation},
            **openapi_formats.paths(_PARAMETERS, accepted, errors),
        },
        "components": {
            "securitySchemes": {
                "usage_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The key of a usage source: fuse_…",
                }
            },
            "schemas": {
                "UsageEvent": _EVENT,
                "IngestionResult": _RESULT,
                "Error": _ERROR,
                **openapi_formats.SCHEMAS,
            },
        },
    }


def _operation() -> Schema:
    with reader_formats():
        most = filesize(settings.USAGE_MAX_BODY_BYTES)
    return {
        "operationId": "pushUsageEvents",
        "summary": "Push usage events",
        "description": "Each event is validated separately: invalid ones are reported by index, the "
        f"others are stored. At most {most}, before "
        "and after decompression.",
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
            "200": _response("The result of each event.", "IngestionResult", {**_OF_A_PUSH, **_LIMITS}),
            **{
                status: _response(description, "Error", headers)
                for status, (description, headers) in _ERRORS.items()
            },
        },
    }


def _response(description: str, schema: str, headers: Schema) -> Schema:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "headers": headers, "content": content}
