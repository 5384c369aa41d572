"""The operations of usage in other formats, for the OpenAPI document: `ingestion/openapi.py` passes the shared parts."""

from __future__ import annotations

from finops.lib.openapi_reference import Schema
from ingestion.events import MAX_EVENTS
from ingestion.formats.cloudevents import MAX_NUMBERS
from ingestion.views import cloudevents, otlp

_CLOUDEVENT: Schema = {
    "type": "object",
    "description": "CloudEvents 1.0. Other attributes are not stored.",
    "required": ["specversion", "id", "source", "type", "subject"],
    "properties": {
        "specversion": {"type": "string", "enum": ["1.0"]},
        "id": {"type": "string", "minLength": 1, "description": "With `source` the ID of the event."},
        "source": {"type": "string", "minLength": 1, "description": "Also a dimension."},
        "type": {"type": "string", "minLength": 1, "description": "Name of the metric."},
        "subject": {"type": "string", "minLength": 1, "description": "Your own ID of the customer."},
        "time": {
            "type": "string",
            "description": "Event time. Default: the time of receipt.",
            "examples": ["2026-11-20T12:00:00Z"],
        },
        "data": {
            "type": ["object", "null"],
            "description": "`value` or `quantity` is the quantity, other numbers (at most "
            f"{MAX_NUMBERS}) are metrics of their own, `<type>.<name>`. Texts are dimensions. With only "
            "texts and booleans the quantity is 1.",
        },
    },
}
_PROBLEM: Schema = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "Which events are rejected, and why."},
        "accepted": {"type": "integer", "minimum": 0},
        "rejected": {"type": "integer", "minimum": 1},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
_STATUS: Schema = {
    "type": "object",
    "description": "google.rpc.Status",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
}
SCHEMAS: Schema = {"CloudEvent": _CLOUDEVENT, "Problem": _PROBLEM, "OtlpStatus": _STATUS}

_EVENT: Schema = {"$ref": "#/components/schemas/CloudEvent"}
_BATCH: Schema = {"type": "array", "maxItems": MAX_EVENTS, "items": _EVENT}
_EVENTS: Schema = {
    "required": True,
    "content": {
        "application/cloudevents+json": {"schema": _EVENT},
        "application/cloudevents-batch+json": {"schema": _BATCH},
        "application/json": {"schema": {"anyOf": [_EVENT, _BATCH]}},
    },
}
_METRICS: Schema = {
    "required": True,
    "content": {
        otlp.JSON: {"schema": {"type": "object", "description": "ExportMetricsServiceRequest"}},
        otlp.PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
    },
}


_WITHOUT_TIME: Schema = {
    "description": "Accepted events without a time: stored with the time of receipt.",
    "schema": {"type": "integer", "minimum": 0},
}


def paths(parameters: list[Schema], accepted: Schema, errors: Schema) -> Schema:
    """Return the three operations. `accepted`: the push endpoint's response to events; `errors`: its error responses."""
    headers = accepted["headers"]
    of_events = {**headers, "Usage-Without-Time": _WITHOUT_TIME}
    problems = {
        status: _with(error, "application/problem+json", "Problem") for status, error in errors.items()
    }
    statuses = {status: _with(error, otlp.JSON, "OtlpStatus") for status, error in errors.items()}
    for error in statuses.values():
        error["content"][otlp.PROTOBUF] = {"schema": {"type": "string", "format": "binary"}}
    rejected = {**problems["400"], "headers": of_events}
    rejected["description"] = "Events are rejected, or the body is no CloudEvent. Others are stored."
    return {
        cloudevents.PATH: {
            "post": _operation(
                "pushCloudEvents",
                "Push CloudEvents",
                parameters,
                _EVENTS,
                {"200": {**accepted, "headers": of_events}, **errors},
            )
        },
        cloudevents.OPENMETER_PATH: {
            "post": _operation(
                "pushAsOpenMeter",
                "Push CloudEvents as clients of OpenMeter do",
                parameters,
                _EVENTS,
                {
                    "200": {**accepted, "headers": of_events, "description": "A dry run with warnings."},
                    "204": {"description": "All accepted.", "headers": of_events},
                    **problems,
                    "400": rejected,
                },
            )
        },
        otlp.PATH: {
            "post": _operation(
                "pushOtlpMetrics",
                "Push metrics of OpenTelemetry",
                parameters,
                _METRICS,
                {"200": _export_response(headers), **statuses},
            )
        },
    }


def _operation(name: str, summary: str, parameters: list[Schema], body: Schema, responses: Schema) -> Schema:
    return {
        "operationId": name,
        "summary": summary,
        "description": "Rules: docs/cloudevents-and-otlp.md.",
        "parameters": parameters,
        "requestBody": body,
        "responses": responses,
    }


def _with(error: Schema, kind: str, schema: str) -> Schema:
    return {**error, "content": {kind: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}


def _export_response(headers: Schema) -> Schema:
    return {
        "description": "Each point is accepted, or counted in partialSuccess.",
        "headers": headers,
        "content": {
            otlp.JSON: {"schema": {"type": "object", "description": "ExportMetricsServiceResponse"}},
            otlp.PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
        },
    }
