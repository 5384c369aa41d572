"""The OpenAPI document of `/api/events`, maintained by hand; limits come from the validation rules, and tests compare
it with the endpoint."""

from __future__ import annotations

import functools
from typing import Final

from django.conf import settings

from finops.change_events.event_rules import KINDS, MAX_DIMENSIONS, MAX_VALUE, MAX_VALUES
from finops.change_events.models import MAX_ACTOR, MAX_EVENT_ID, MAX_TITLE, MAX_URL
from finops.lib.openapi_reference import Schema
from ingestion import openapi as usage_openapi
from ingestion.events import MAX_EVENTS

PATH: Final = "/api/events"
_VALUE: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE}
_EVENT: Schema = {
    "type": "object",
    "description": "Other fields are ignored. Lengths are in Unicode characters.",
    "required": ["kind", "title"],
    "properties": {
        "occurred_at": {
            "type": ["string", "null"],
            "description": "ISO 8601, RFC 2822, or Unix seconds or milliseconds as text. Default: the time of receipt. Without "
            "a zone: UTC. Or as timestamp, as in usage events.",
            "examples": ["2026-11-20T12:00:00Z"],
        },
        "kind": {"type": "string", "enum": list(KINDS), "description": "What happened."},
        "title": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_TITLE,
            "description": "One line for people. Must not be blank.",
        },
        "actor": {
            "type": ["string", "null"],
            "maxLength": MAX_ACTOR,
            "description": "Person or program that did it.",
        },
        "url": {
            "type": ["string", "null"],
            "maxLength": MAX_URL,
            "description": "A link, http or https, without a password.",
        },
        "scope": {
            "type": ["object", "null"],
            "maxProperties": MAX_DIMENSIONS,
            "additionalProperties": {
                "anyOf": [_VALUE, {"type": "array", "minItems": 1, "maxItems": MAX_VALUES, "items": _VALUE}]
            },
            "description": "What of the cost it is about: values by dimension, such as service, region, account, resource, "
            "tag:team. Default: all cost.",
            "examples": [{"service": "Amazon EC2", "tag:team": ["payments"]}],
        },
        "event_id": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_EVENT_ID,
            "description": "Your ID of this event, unique by source. Events sent again are accepted and stored once.",
        },
    },
}


def _count(description: str) -> Schema:
    return {"description": description, "schema": {"type": "integer", "minimum": 0}}


_OF_A_PUSH: Schema = {
    "Events-Rejected": _count("Rejected events."),
    "Events-Unlikely-Times": _count("Accepted events before 2000 or more than a day ahead."),
    "Events-Ignored-Fields": _count("Fields of accepted events that are not stored."),
    "Events-Duplicates": _count("Accepted events already stored by an earlier push or earlier in this one."),
    "Idempotent-Replayed": {
        "description": "The response of the first request with this Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
}


@functools.cache
def document() -> Schema:
    usage = usage_openapi.document()
    schemas = usage["components"]["schemas"]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Change events",
            "version": "1",
            "description": "Push deployments, releases and other events.",
        },
        "servers": [{"url": settings.PUBLIC_URL}],
        "security": [{"event_key": []}],
        "paths": {PATH: {"post": _operation(usage["paths"][usage_openapi.PATH]["post"])}},
        "components": {
            "securitySchemes": {
                "event_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The key of an event source: fevt_…",
                }
            },
            "schemas": {
                "ChangeEvent": _EVENT,
                "IngestionResult": schemas["IngestionResult"],
                "Error": schemas["Error"],
            },
        },
    }


def _operation(usage: Schema) -> Schema:
    """An operation like that of usage events (ingestion.openapi), with the same parameters, limits and errors."""
    accepted = usage["responses"]["200"]
    limits = {name: each for name, each in accepted["headers"].items() if name.startswith("RateLimit-")}
    items = {"type": "array", "maxItems": MAX_EVENTS, "items": {"$ref": "#/components/schemas/ChangeEvent"}}
    body = {"type": "object", "required": ["events"], "properties": {"events": items}}
    return {
        **usage,
        "operationId": "pushChangeEvents",
        "summary": "Push change events",
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {**usage["responses"], "200": {**accepted, "headers": {**_OF_A_PUSH, **limits}}},
    }
