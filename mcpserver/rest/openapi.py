"""The OpenAPI 3.1 document of the REST API, made of the registry of tools: nothing of a tool is written down twice."""

from __future__ import annotations

import functools
from typing import Any, Final

import msgspec
from django.conf import settings

from finops.configuration.kinds import KINDS
from mcpserver.registry import Tool, ToolAccess, registry
from mcpserver.rest.problems import CONTENT_TYPE, PROBLEM_TYPES
from mcpserver.schema import Schema, whole_answer_schema

_HEADERS: Final = {
    "WWW-Authenticate": {"schema": {"type": "string"}, "description": "What the token needs."},
    "Allow": {"schema": {"type": "string"}, "description": "The method of this path."},
    "Idempotent-Replayed": {
        "schema": {"type": "string"},
        "description": "The answer of the first call with this Idempotency-Key.",
    },
    "Retry-After": {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds to wait."},
}
YAML: Final = "application/yaml"
_COMMON_STATUSES: Final = (401, 403, 405, 429, 500, 503)
_TOOL_STATUSES: Final = (400, 413, 422)
_IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "description": "The same key and call within 24 hours returns the first response and changes nothing.",
}


@functools.cache
def document() -> Schema:
    tools = {f"/api/v1/tools/{tool.name}": {"post": _operation(tool)} for tool in registry}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "FinOps console",
            "version": "1",
            "description": "Cost, usage, budgets and savings of one account. Each operation is a tool of the MCP server.",
        },
        "servers": [{"url": settings.PUBLIC_URL}],
        "security": _security(ToolAccess.READ),
        "paths": {"/api/v1/tools": {"get": _list_operation()}, **tools, **_configuration_paths()},
        "components": {
            "securitySchemes": _security_schemes(),
            "schemas": {
                "Problem": _problem(),
                "Tools": _tools(),
                "Conversion": _conversion(),
                "ConfigurationChanges": _configuration_changes(),
            },
            "responses": {each.name: _problem_response(code) for code, each in PROBLEM_TYPES.items()},
        },
    }


@functools.cache
def document_bytes() -> bytes:
    return msgspec.json.encode(document())


def _operation(tool: Tool) -> Schema:
    examples = {f"example {number}": {"value": each} for number, each in enumerate(tool.examples, 1)}
    writes = tool.access is ToolAccess.WRITE
    return {
        "operationId": tool.name,
        "tags": [tool.access.value],
        "summary": tool.title,
        "description": tool.description,
        "security": _security(tool.access),
        "parameters": [_IDEMPOTENCY_KEY] if writes else [],
        "requestBody": {
            "required": bool(tool.input_schema.get("required")),
            "content": {"application/json": {"schema": tool.input_schema, "examples": examples}},
        },
        "responses": {
            "200": {
                "description": "The answer.",
                "headers": {"Idempotent-Replayed": _HEADERS["Idempotent-Replayed"]} if writes else {},
                "content": {"application/json": {"schema": _answer_schema(tool)}},
            },
            **_problems(*_COMMON_STATUSES, *_TOOL_STATUSES, *([409] if writes else [])),
        },
    }


def _answer_schema(tool: Tool) -> Schema:
    schema = whole_answer_schema(tool.answer)
    if tool.has_receipt:
        receipt = _text("Arguments of verifyAnswer.")
        schema = {**schema, "properties": {**schema["properties"], "receipt": receipt}}
    if not tool.converts:
        return schema
    conversion = {"$ref": "#/components/schemas/Conversion"}
    return {**schema, "properties": {**schema["properties"], "conversion": conversion}}


def _list_operation() -> Schema:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Tools"}}}
    return {
        "operationId": "listTools",
        "summary": "List tools",
        "description": "The tools that the credential can call.",
        "responses": {
            "200": {"description": "The tools.", "content": content},
            **_problems(*_COMMON_STATUSES),
        },
    }


def _configuration_paths() -> Schema:
    kinds = [kind.name for kind in KINDS]
    kind = {"type": "array", "items": {"type": "string", "enum": kinds}}
    export = {
        "operationId": "exportConfiguration",
        "tags": ["read"],
        "summary": "Export configuration",
        "description": "The account's configuration as a YAML file.",
        "security": _security(ToolAccess.READ),
        "parameters": [_query_parameter("kind", kind, "Repeat for several. Default: all.")],
        "responses": {
            "200": {"description": "The file.", "content": {YAML: {"schema": {"type": "string"}}}},
            **_problems(*_COMMON_STATUSES, 422),
        },
    }
    plan = "Changes that applying a file would make. Writes nothing."
    apply = "Applies a file atomically. Applying it again changes nothing."
    return {
        "/api/v1/configuration": {"get": export},
        "/api/v1/configuration/plan": {
            "post": _file_operation("planConfiguration", "Plan configuration", plan)
        },
        "/api/v1/configuration/apply": {
            "post": _file_operation("applyConfiguration", "Apply configuration", apply)
        },
    }


def _file_operation(name: str, summary: str, description: str) -> Schema:
    delete = {"type": "boolean", "default": False}
    changes = {"schema": {"$ref": "#/components/schemas/ConfigurationChanges"}}
    return {
        "operationId": name,
        "tags": ["write"],
        "summary": summary,
        "description": description,
        "security": _security(ToolAccess.WRITE),
        "parameters": [
            _query_parameter(
                "delete", delete, "Delete objects that are not in the file, for the types in the file."
            )
        ],
        "requestBody": {"required": True, "content": {YAML: {"schema": {"type": "string"}}}},
        "responses": {
            "200": {"description": "The changes.", "content": {"application/json": changes}},
            **_problems(*_COMMON_STATUSES, 413, 422),
        },
    }


def _query_parameter(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _configuration_changes() -> Schema:
    field = {"type": "object", "required": ["before", "after"], "properties": {"before": {}, "after": {}}}
    properties: dict[str, Any] = {
        "action": {"type": "string", "enum": ["create", "change", "delete"]},
        "kind": _text("Such as budgets."),
        "name": _text("Of the row."),
        "fields": {
            "type": "object",
            "additionalProperties": field,
            "description": "What differs, by field; only of a change. Null is the default.",
        },
    }
    return _object({"changes": {"type": "array", "items": _object(properties)}})


def _object(properties: Schema) -> Schema:
    """Return an object schema with exactly these required fields."""
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


def _problems(*codes: int) -> Schema:
    return {
        str(code): {"$ref": f"#/components/responses/{PROBLEM_TYPES[code].name}"} for code in sorted(codes)
    }


def _problem_response(code: int) -> Schema:
    problem = PROBLEM_TYPES[code]
    return {
        "description": problem.description,
        "headers": {name: _HEADERS[name] for name in problem.headers},
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _security(access: ToolAccess) -> list[dict[str, list[str]]]:
    return [{"mcp_key": []}, {"oauth": [f"mcp:{access.value}"]}]


def _security_schemes() -> Schema:
    return {
        "mcp_key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An MCP key: fmcp_… Writes need a Read/write key.",
        },
        "oauth": {
            "type": "oauth2",
            "description": "A token for the resource /api/mcp.",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": f"{settings.PUBLIC_URL}/oauth/authorize",
                    "tokenUrl": f"{settings.PUBLIC_URL}/oauth/token",
                    "scopes": {"mcp:read": "Read the account.", "mcp:write": "Change the account."},
                }
            },
        },
    }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _problem() -> Schema:
    properties: dict[str, Any] = {
        "type": {**_text("Address of the problem's description."), "format": "uri"},
        "title": _text("Type of the problem."),
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": _text("Error, invalid value and how to fix it."),
        "field": _text("The invalid argument, if there is one."),
        "incident": _text("Number of a server error in the log; left out for other problems."),
    }
    required = ["type", "title", "status", "detail"]
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def _tools() -> Schema:
    properties: dict[str, Any] = {
        "name": _text("The last part of its path."),
        "title": _text("What it is called."),
        "description": _text("What it answers or changes."),
        "access": {"type": "string", "enum": ["read", "write"], "description": "The access that it needs."},
        "destructive": {"type": "boolean", "description": "Whether it deletes something."},
        "input_schema": {"type": "object", "description": "JSON Schema of its arguments."},
        "examples": {"type": "array", "items": {"type": "object"}, "description": "Arguments that work."},
    }
    return _object({"tools": {"type": "array", "items": _object(properties)}})


def _conversion() -> Schema:
    return {
        "type": "object",
        "description": "Only in converted answers: the exchange rates, as text with all their digits, and the account's costs by currency.",
        "properties": {
            "display_currency": _text("The currency of the amounts."),
            "exchange_rates": {"type": "array", "items": {"type": "object"}},
            "account_costs": {"type": "array", "items": {"type": "object"}},
        },
    }
