"""The reference of `/api/costs` for its page, read from the OpenAPI document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from finops.connections.models import month_name
from finops.connections.openapi import document
from finops.lib import clock
from finops.lib.openapi_reference import Field, ResponseStatus, Schema, fields_of, status_of

PATHS: Final = (
    ("/api/costs/months/{month}", "post"),
    ("/api/costs/pushes", "post"),
    ("/api/costs/pushes/{id}/parts/{n}", "put"),
    ("/api/costs/pushes/{id}/commit", "post"),
    ("/api/costs/pushes/{id}", "get"),
    ("/api/costs/pushes", "get"),
    ("/api/costs/pushes/{id}", "delete"),
)
"""Operations in the order in which a developer needs them."""


@dataclass(frozen=True)
class ApiOperation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    body: str
    success: str
    errors: str
    curl: str


@dataclass(frozen=True)
class PushReference:
    operations: list[ApiOperation]
    columns: list[Field]
    """The columns of a row."""
    push: list[Field]
    example: str
    """A push as JSON."""
    statuses: list[ResponseStatus]


def push_reference(key: str) -> PushReference:
    """Return everything that the page lists, with `key` in the examples."""
    whole = document()
    schemas: Schema = whole["components"]["schemas"]
    operations = [(method, path, whole["paths"][path][method]) for path, method in PATHS]
    statuses = {
        code: status_of(code, response)
        for _method, _path, operation in operations
        for code, response in operation["responses"].items()
    }
    return PushReference(
        operations=[_entry(method, path, operation, key) for method, path, operation in operations],
        columns=fields_of(schemas["Rows"]["properties"]["rows"]["items"]),
        push=fields_of(schemas["CostPush"]),
        example=json.dumps(schemas["CostPush"]["examples"][0], indent=2),
        statuses=[statuses[code] for code in sorted(statuses)],
    )


def _entry(method: str, path: str, operation: Schema, key: str) -> ApiOperation:
    codes = list(operation["responses"])
    body: Schema = operation.get("requestBody", {})
    return ApiOperation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=operation["description"],
        body=body.get("description") or _example(body),
        success=codes[0],
        errors=", ".join(codes[1:]),
        curl=_curl(method, path, body, key),
    )


def _example(body: Schema) -> str:
    """Return the JSON of an example body; empty without a body, and for a file."""
    example = body.get("content", {}).get("application/json", {}).get("example")
    return json.dumps(example) if example else ""


def _curl(method: str, path: str, body: Schema, key: str) -> str:
    month = month_name(clock.today())
    filled = path.replace("{month}", month).replace("{id}", "$PUSH_ID").replace("{n}", "1")
    lines = [
        f'curl -X {method.upper()} "{settings.PUBLIC_URL}{filled}"',
        f'  -H "Authorization: Bearer {key}"',
    ]
    if example := _example(body):
        lines.append(f"  -d '{example}'")
    elif body:
        lines.append(f"  --data-binary @focus-{month}.csv")
    return " \\\n".join(lines)
