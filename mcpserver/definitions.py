"""Argument schemas in `tools/list`, in the fewest bytes without losing meaning: all definitions are in the context of
every conversation (ADR 0004).

An argument that several tools share is complete in one of them, REFERENCES; the others list its type and fields, and
name that tool for choices and meaning. The registry keeps the complete schemas, for the REST API and its OpenAPI
document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

Schema = dict[str, Any]

REFERENCES: Final = ("querySpend", "create_dashboard", "create_budget")
"""Tools with complete arguments. A credential that may call another tool with the same argument may also call these.
"""

_WORDS: Final = frozenset({"description", "default"})
_OUTLINE: Final = frozenset({"type", "format", "anyOf"})
_EVIDENT: Final = {"minimum": 1, "minLength": 1, "minItems": 1}
"""Limits that are obvious: a count, a name or a list has at least one."""

_MANY: Final = 20
"""Lists with at least this maximum are listed without it; a longer list is refused with its limit."""

_DAYS: Final = {"start_date": "With end_date, inclusive."}
"""Arguments whose descriptions in querySpend are enough."""


def listed_schemas(schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the listed `inputSchema` of each tool, by name."""
    written_out = {name: schemas[name]["properties"] for name in REFERENCES if name in schemas}
    return {name: _entry_schema(name, schema, written_out) for name, schema in schemas.items()}


def _entry_schema(tool: str, schema: Schema, written_out: Mapping[str, Schema]) -> Schema:
    properties = {
        name: _plain(_short(name, argument, {} if tool in written_out else written_out))
        for name, argument in schema.get("properties", {}).items()
    }
    for name, description in _DAYS.items():
        if properties.get(name, {}).get("description") == description:
            del properties[name]["description"]
    return {**schema, "properties": properties}


def _short(name: str, argument: Schema, written_out: Mapping[str, Schema]) -> Schema:
    for tool, properties in written_out.items():
        shared = properties.get(name)
        if shared is not None and _has_choices(argument) and _bare(shared) == _bare(argument):
            reference = _reference_to(argument, tool, shared.get("description", ""))
            return min(argument, reference, key=lambda each: len(msgspec.json.encode(each)))
    return argument


def _has_choices(argument: Schema) -> bool:
    """Return whether a schema has choices. The outline of a plain text or number is itself without limits."""
    return "enum" in argument or "items" in argument


def _reference_to(argument: Schema, tool: str, shared_description: str) -> Schema:
    description = argument.get("description", "")
    if description.rstrip(".") in shared_description:
        description = ""
    reference = "" if tool in description else f"As in {tool}."
    default = {"default": argument["default"]} if "default" in argument else {}
    return {"description": f"{description} {reference}".strip(), **_outline(argument), **default}


def _outline(schema: Schema) -> Schema:
    """Return types and names of fields, without choices, limits and descriptions."""
    outline = {key: value for key, value in schema.items() if key in _OUTLINE}
    if "properties" in schema:
        outline["properties"] = {name: _outline(field) for name, field in schema["properties"].items()}
    if "items" in schema:
        outline["items"] = _outline(schema["items"])
    return outline


def _bare(value: Any) -> Any:
    """Return a schema without its descriptions."""
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    # Among the names of fields, "description" is a field.
    return {
        key: {name: _bare(field) for name, field in item.items()} if key == "properties" else _bare(item)
        for key, item in value.items()
        if key not in _WORDS
    }


def _plain(schema: Schema) -> Schema:
    """Return a schema without redundant parts: unknown fields of nested objects are refused like those of the root,
    whose schema says so."""
    plain = {
        key: value
        for key, value in schema.items()
        if key != "additionalProperties"
        and _EVIDENT.get(key) != value
        and not (key == "maxItems" and value >= _MANY)
    }
    if "properties" in plain:
        plain["properties"] = {name: _plain(field) for name, field in plain["properties"].items()}
    if isinstance(plain.get("items"), dict):
        plain["items"] = _plain(plain["items"])
    return plain
