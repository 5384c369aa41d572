"""The OpenAPI document of `/api/costs`, maintained by hand beside the limits that it quotes. Tests compare it with
the endpoints."""

from __future__ import annotations

import functools

from django.conf import settings

from finops.connections.models import CostPush
from finops.connections.push_files import PartFormat
from finops.lib.formats.locales import reader_formats
from finops.lib.formats.numbers import filesize
from finops.lib.openapi_reference import Schema


def _object(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these fields."""
    required = list(properties)
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


_MONTH: Schema = {"type": "string", "pattern": r"^\d{4}-(0[1-9]|1[0-2])$", "examples": ["2026-05"]}
_WHEN: Schema = {"type": ["string", "null"], "format": "date-time"}
_AMOUNT: Schema = {"type": "string", "description": "An exact decimal."}
_PART = _object(
    number={"type": "integer", "minimum": 1},
    format={"type": "string", "enum": [each.value for each in PartFormat]},
    bytes={"type": "integer", "minimum": 0, "description": "After inflating Content-Encoding."},
)
_SUMMARY: Schema = {
    "id": {"type": "string", "format": "uuid", "description": "UUID of the push."},
    "month": {**_MONTH, "description": "Billing month, such as 2026-05."},
    "status": {
        "type": "string",
        "enum": list(CostPush.PushStatus.values),
        "description": "open until the commit; then queued, running, and done or failed.",
    },
    "rows": {"type": ["integer", "null"], "minimum": 0, "description": "Imported rows; null until done."},
    "totals": {
        "type": "array",
        "description": "currency, billed_cost and effective_cost of each currency; empty until done.",
        "items": _object(currency={"type": "string"}, billed_cost=_AMOUNT, effective_cost=_AMOUNT),
    },
    "error": {
        "type": ["string", "null"],
        "description": "Part, row, column and value that failed; null otherwise.",
    },
    "created_at": {**_WHEN, "type": "string", "description": "ISO 8601, UTC."},
    "expires_at": {**_WHEN, "description": "An open push expires then; null after the commit."},
    "committed_at": {**_WHEN, "description": "Null while open."},
    "finished_at": {**_WHEN, "description": "Null until done, failed, canceled or expired."},
}
_PUSH = _object(
    **_SUMMARY,
    parts={"type": "array", "description": "number, format and bytes of each part.", "items": _PART},
    note={"type": ["string", "null"], "description": "The upload that the push replaces; null for none."},
)
_PUSH["examples"] = [
    {
        "id": "5f0c8a52-6f0e-4b3e-9d6c-2f1f6d6b7a10",
        "month": "2026-05",
        "status": "done",
        "parts": [{"number": 1, "format": "csv.gz", "bytes": 48213}],
        "rows": 1200,
        "totals": [{"currency": "USD", "billed_cost": "1840.25", "effective_cost": "1795.1"}],
        "error": None,
        "note": None,
        "created_at": "2026-06-01T06:00:00Z",
        "expires_at": None,
        "committed_at": "2026-06-01T06:00:02Z",
        "finished_at": "2026-06-01T06:00:04Z",
    }
]
_PUSHES = _object(pushes={"type": "array", "maxItems": 50, "items": _object(**_SUMMARY)})
_ERROR = _object(
    error=_object(
        code={"type": "string", "description": "A fixed word for programs, such as conflict."},
        message={"type": "string", "description": "Error and how to fix it."},
    )
)


def _count(description: str) -> Schema:
    return {"description": description, "schema": {"type": "integer", "minimum": 0}}


_LIMITS: Schema = {
    "RateLimit-Limit": _count("Requests of the account in any 60 seconds."),
    "RateLimit-Remaining": _count("Requests left."),
    "RateLimit-Reset": _count("Seconds until the oldest request no longer counts."),
}
_RETRY: Schema = {"Retry-After": _count("Seconds to wait.")}
_ERRORS: dict[str, tuple[str, Schema]] = {
    "400": (
        "The body or a path parameter is invalid. Correct it before you send it again.",
        _LIMITS,
    ),
    "401": (
        "The key is missing, unknown, revoked or replaced.",
        {"WWW-Authenticate": {"schema": {"type": "string", "const": "Bearer"}}},
    ),
    "403": ("The account is suspended by the operator of the server.", {}),
    "404": ("The source has no push with this id.", _LIMITS),
    "405": ("The path does not allow this method.", {"Allow": {"schema": {"type": "string"}}, **_LIMITS}),
    "409": (
        "The push is no longer open, or its parts are missing or equal; the message names them.",
        _LIMITS,
    ),
    "413": ("The body, or all parts together, exceed the limit.", _LIMITS),
    "415": (
        "Content-Encoding is none of gzip, deflate, zstd and identity.",
        {"Accept-Encoding": {"schema": {"type": "string"}}, **_LIMITS},
    ),
    "429": ("Too many requests of the account. Wait for Retry-After.", {**_RETRY, **_LIMITS}),
    "500": ("Internal error; the message has an incident number.", _LIMITS),
    "503": (
        "Storage is unavailable or the disk is nearly full. Send it again after Retry-After.",
        {**_RETRY, **_LIMITS},
    ),
}
_ALWAYS = ("401", "403", "405", "429", "500", "503")
_OF_BODY = ("400", "413", "415")


@functools.cache
def document() -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cost pushes",
            "version": "1",
            "description": "Push FOCUS rows one billing month at a time. Each push replaces the month in its source.",
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
    push = _parameter("id", {"type": "string", "format": "uuid"})
    number = _parameter("n", {"type": "integer", "minimum": 1, "maximum": settings.COST_PUSH_MAX_PARTS})
    push_month = _operation(
        "pushMonth",
        "Push a month",
        "One call for a month in one file. It replaces the month of the source.",
        "202",
        ("409",),
        _file_body(),
    )
    put_part = _operation(
        "putPart",
        "Send a part",
        "In any order, also in parallel. The same number replaces the part.",
        "200",
        ("404", "409"),
        _file_body(),
    )
    return {
        "/api/costs/months/{month}": {"parameters": [_parameter("month", _MONTH)], "post": push_month},
        "/api/costs/pushes": _of_pushes(),
        "/api/costs/pushes/{id}": {
            "parameters": [push],
            "get": _operation("getPush", "Get a push", "Status, rows, totals and error.", "200", ("404",)),
            "delete": _operation(
                "cancelPush", "Cancel a push", "Until its import starts.", "200", ("404", "409")
            ),
        },
        "/api/costs/pushes/{id}/parts/{n}": {"parameters": [push, number], "put": put_part},
        "/api/costs/pushes/{id}/commit": {"parameters": [push], "post": _commit()},
    }


def _of_pushes() -> Schema:
    body = _json_body(_object(month=_MONTH), {"month": "2026-05"})
    description = "For a month in parts. Expires after 24 hours without a commit."
    return {
        "get": _operation("listPushes", "List pushes", "The newest 50 of the source.", "200"),
        "post": _operation("openPush", "Open a push", description, "201", ("409",), body),
    }


def _commit() -> Schema:
    parts = _object(parts={"type": "integer", "minimum": 1, "maximum": settings.COST_PUSH_MAX_PARTS})
    description = "Queues the import of all parts. Safe to repeat."
    body = _json_body(parts, {"parts": 2})
    return _operation("commitPush", "Commit a push", description, "202", ("404", "409"), body)


def _parameter(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(
    name: str,
    summary: str,
    description: str,
    status: str,
    errors: tuple[str, ...] = (),
    body: Schema | None = None,
) -> Schema:
    codes = sorted({*_ALWAYS, *errors, *(_OF_BODY if body else ())})
    operation: Schema = {
        "operationId": name,
        "summary": summary,
        "description": description,
        "responses": {
            status: _response("Success.", "CostPushes" if name == "listPushes" else "CostPush", _LIMITS),
            **{code: _response(_ERRORS[code][0], "Error", _ERRORS[code][1]) for code in codes},
        },
    }
    if body:
        encoding = {"type": "string", "enum": ["gzip", "deflate", "zstd", "identity"]}
        operation["parameters"] = [{"name": "Content-Encoding", "in": "header", "schema": encoding}]
        operation["requestBody"] = body
    return operation


def _json_body(schema: Schema, example: Schema) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": schema, "example": example}}}


def _file_body() -> Schema:
    with reader_formats():
        most = filesize(settings.COST_PUSH_MAX_PART_BYTES)
    return {
        "required": True,
        "description": f"FOCUS rows as CSV, CSV.gz, Parquet, JSON or NDJSON, recognized by content; at most {most}.",
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
    row: Schema = {
        "type": "object",
        "description": "FOCUS columns by name, 1.0 to 1.4. Custom columns begin with x_; others are ignored with a note.",
        "required": [
            "BillingPeriodStart",
            "BillingCurrency",
            "BilledCost",
            "EffectiveCost",
            "ChargeCategory",
            "ServiceName",
        ],
        "properties": {
            "BillingPeriodStart": _text("A time in the pushed month."),
            "ChargePeriodStart": _text("Start of the charge. Without it, the start of the billing period."),
            "BillingCurrency": _text("ISO 4217 code, such as USD."),
            "BilledCost": _amount("Billed cost. Exact to 18 places."),
            "EffectiveCost": _amount("Amortized cost. Exact to 18 places."),
            "ChargeCategory": _text("Usage, Purchase, Tax, Credit or Adjustment."),
            "ProviderName": _text("Or ServiceProviderName of FOCUS 1.3."),
            "ServiceName": _text("Service, such as a product of yours."),
            "Tags": {
                "type": ["object", "null"],
                "additionalProperties": {"type": ["string", "null"]},
                "description": "Keys and values; each key becomes a dimension.",
            },
        },
        "additionalProperties": value,
    }
    return _object(rows={"type": "array", "items": row})


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _amount(description: str) -> Schema:
    return {"type": ["number", "string"], "description": description}


def _response(description: str, schema: str, headers: Schema) -> Schema:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "headers": headers, "content": content}
