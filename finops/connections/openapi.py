"""The OpenAPI document of `/api/costs`. Kept by hand beside the limits that it takes; tests hold it against the door."""

from __future__ import annotations

import functools
from typing import Any

from django.conf import settings

from finops.connections.models import CostPush
from finops.connections.push_files import PartFormat

Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    """An object with exactly these fields."""
    required = list(properties)
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


_MONTH: Schema = {"type": "string", "pattern": r"^\d{4}-(0[1-9]|1[0-2])$", "examples": ["2026-05"]}
_WHEN: Schema = {"type": ["string", "null"], "format": "date-time"}
_AMOUNT: Schema = {"type": "string", "description": "An exact decimal."}
_PART = _object(
    number={"type": "integer", "minimum": 1},
    format={"type": "string", "enum": [each.value for each in PartFormat]},
    bytes={"type": "integer", "minimum": 0},
)
_SUMMARY: Schema = {
    "id": {"type": "string", "format": "uuid"},
    "month": _MONTH,
    "status": {
        "type": "string",
        "enum": list(CostPush.PushStatus.values),
        "description": "open until it is committed; then queued, running, and done or failed.",
    },
    "rows": {"type": ["integer", "null"], "minimum": 0, "description": "Rows that count, once it is done."},
    "totals": {
        "type": "array",
        "description": "One for each currency, once it is done.",
        "items": _object(currency={"type": "string"}, billed_cost=_AMOUNT, effective_cost=_AMOUNT),
    },
    "error": {"type": ["string", "null"], "description": "Why it failed, with part, row, column and value."},
    "created_at": {**_WHEN, "type": "string"},
    "expires_at": {**_WHEN, "description": "An open push ends then; null once it is committed."},
    "committed_at": _WHEN,
    "finished_at": _WHEN,
}
_PUSH = _object(**_SUMMARY, parts={"type": "array", "items": _PART})
_PUSHES = _object(pushes={"type": "array", "maxItems": 50, "items": _object(**_SUMMARY)})
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
_RETRY: Schema = {"Retry-After": _count("Seconds to wait.")}
_ERRORS: dict[str, tuple[str, Schema]] = {
    "400": (
        "The body, or something in the path, is wrong. Sending it again as it is does not help.",
        _LIMITS,
    ),
    "401": (
        "No living cost key. Nothing of the body was read.",
        {"WWW-Authenticate": {"schema": {"type": "string", "const": "Bearer"}}},
    ),
    "404": ("The source of this key has no such push.", _LIMITS),
    "405": ("Another method.", {"Allow": {"schema": {"type": "string"}}, **_LIMITS}),
    "409": ("The push is not open any more, or parts are missing; the message names them.", _LIMITS),
    "413": ("The body, or all parts of the push together, are too large.", _LIMITS),
    "415": (
        "Another Content-Encoding than gzip.",
        {"Accept-Encoding": {"schema": {"type": "string"}}, **_LIMITS},
    ),
    "429": ("Too many requests of the account.", {**_RETRY, **_LIMITS}),
    "500": ("Our fault; the message has an incident number.", _LIMITS),
    "503": ("Storage is not available, or the disk is nearly full; send it again.", {**_RETRY, **_LIMITS}),
}
_ALWAYS = ("401", "405", "429", "500", "503")
_OF_BODY = ("400", "413", "415")


@functools.cache
def document() -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cost pushes",
            "version": "1",
            "description": "Push a billing month of FOCUS rows. It takes the place of what the source had of that month, whole.",
        },
        "servers": [{"url": settings.PUBLIC_URL}],
        "security": [{"cost_key": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {
                "cost_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The key of a cost source: fcst_…",
                }
            },
            "schemas": {"CostPush": _PUSH, "CostPushes": _PUSHES, "Rows": _rows(), "Error": _ERROR},
        },
    }


def _paths() -> Schema:
    push_id = _parameter("id", {"type": "string", "format": "uuid"})
    number = _parameter("n", {"type": "integer", "minimum": 1, "maximum": settings.COST_PUSH_MAX_PARTS})
    parts = _object(parts={"type": "integer", "minimum": 1, "maximum": settings.COST_PUSH_MAX_PARTS})
    return {
        "/api/costs/months/{month}": {
            "parameters": [_parameter("month", _MONTH)],
            "post": _operation(
                "pushMonth",
                "Push a month in one call",
                "202",
                ("409",),
                _file_body("Empties the month with no row."),
            ),
        },
        "/api/costs/pushes": {
            "get": _operation("listPushes", "The newest 50 pushes of the source", "200", answer="CostPushes"),
            "post": _operation("openPush", "Open a push", "201", ("409",), _json_body(_object(month=_MONTH))),
        },
        "/api/costs/pushes/{id}": {
            "parameters": [push_id],
            "get": _operation("getPush", "How a push is", "200", ("404",)),
            "delete": _operation("cancelPush", "Cancel a push that has not begun", "200", ("404", "409")),
        },
        "/api/costs/pushes/{id}/parts/{n}": {
            "parameters": [push_id, number],
            "put": _operation(
                "putPart",
                "Send a part; the same number again takes its place",
                "200",
                ("404", "409"),
                _file_body("Parts may come in any order, and at once."),
            ),
        },
        "/api/costs/pushes/{id}/commit": {
            "parameters": [push_id],
            "post": _operation(
                "commitPush", "Commit all parts. Twice is once", "202", ("404", "409"), _json_body(parts)
            ),
        },
    }


def _parameter(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(
    name: str,
    summary: str,
    status: str,
    errors: tuple[str, ...] = (),
    body: Schema | None = None,
    *,
    answer: str = "CostPush",
) -> Schema:
    codes = sorted({*_ALWAYS, *errors, *(_OF_BODY if body else ())})
    operation: Schema = {
        "operationId": name,
        "summary": summary,
        "responses": {
            status: _response("The push." if answer == "CostPush" else "The pushes.", answer, _LIMITS),
            **{code: _response(_ERRORS[code][0], "Error", _ERRORS[code][1]) for code in codes},
        },
    }
    if body:
        encoding = {"type": "string", "enum": ["gzip", "identity"]}
        operation["parameters"] = [{"name": "Content-Encoding", "in": "header", "schema": encoding}]
        operation["requestBody"] = body
    return operation


def _json_body(schema: Schema) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _file_body(note: str) -> Schema:
    most = settings.COST_PUSH_MAX_PART_BYTES
    return {
        "required": True,
        "description": f"FOCUS rows, recognised by content whatever Content-Type says; at most {most:,} bytes. {note}",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Rows"}},
            "application/x-ndjson": {
                "schema": {"type": "string", "description": "A row as an object on each line."}
            },
            "text/csv": {"schema": {"type": "string"}},
            "application/gzip": {"schema": {"type": "string", "description": "CSV in gzip."}},
            "application/vnd.apache.parquet": {"schema": {"type": "string"}},
        },
    }


def _rows() -> Schema:
    value: Schema = {"type": ["string", "number", "boolean", "object", "array", "null"]}
    text: Schema = {"type": "string"}
    amount: Schema = {
        "type": ["number", "string"],
        "description": "Exact to 18 places; a number is not rounded.",
    }
    row: Schema = {
        "type": "object",
        "description": "FOCUS columns by name, 1.0 to 1.4. Other columns are kept where they begin with x_, else noted.",
        "required": [
            "BillingPeriodStart",
            "BillingCurrency",
            "BilledCost",
            "EffectiveCost",
            "ChargeCategory",
        ],
        "properties": {
            "BillingPeriodStart": {**text, "description": "A time of the month that is pushed."},
            "ChargePeriodStart": text,
            "BillingCurrency": text,
            "BilledCost": amount,
            "EffectiveCost": amount,
            "ChargeCategory": text,
            "ProviderName": text,
            "ServiceName": text,
            "Tags": {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}},
        },
        "additionalProperties": value,
    }
    return _object(rows={"type": "array", "items": row})


def _response(description: str, schema: str, headers: Schema) -> Schema:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "headers": headers, "content": content}
