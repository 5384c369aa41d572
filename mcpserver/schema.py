"""JSON Schemas of a tool's arguments and answer, made from their msgspec types.

Every MCP revision can read the result: the root is an object, nothing is a `$ref`, and each value of `properties`
is an object. Argument schemas keep descriptions, limits, defaults and enums and refuse unknown fields. `tools/list` has
a shorter form of them (definitions.py), and no schemas of answers (ADR 0004).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mcpserver.results import SERIES, UNITS

Schema = dict[str, Any]


class SchemaError(TypeError):
    """An error: a type that a tool's schema cannot have, because it is recursive or not an object at the root."""


_SHARED_DESCRIPTIONS = {
    "start_date": "First day.",
    "end_date": "Last day.",
    "cursor": "Of the last page.",
    "search": "Part of a name.",
    "dimension": "Such as service.",
    "values": "Any of these.",
    "currency": "Such as USD.",
}
"""Descriptions of fields that many arguments have, for those without one of their own."""


def arguments_schema(kind: type[msgspec.Struct]) -> Schema:
    """The `inputSchema` of a tool. An optional field may be omitted; null is not listed as a value."""
    return _strict(_inline_references(kind))


def whole_answer_schema(kind: type[msgspec.Struct]) -> Schema:
    """The complete schema of an answer, which every real answer matches, nulls included. Too long for `tools/list`."""
    return _inline_references(kind)


def _inline_references(kind: type[msgspec.Struct]) -> Schema:
    (root,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    schema: Schema = _resolve(root, components, ())
    if schema.get("type") != "object":
        raise SchemaError(f"{kind.__name__} is no object, so it cannot be a tool's arguments or answer")
    return schema


def _resolve(node: Any, components: Mapping[str, Schema], ancestors: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolve(item, components, ancestors) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _resolve_ref(node, components, ancestors)
    schema = {key: _resolve(value, components, ancestors) for key, value in node.items()}
    if isinstance(node.get("properties"), dict):
        schema["properties"] = _with_units(schema["properties"])
    if schema.get("format") == "decimal":
        return _number(schema)
    return _with_enum_type(schema) if "enum" in schema else schema


def _with_units(fields: dict[str, Schema]) -> dict[str, Schema]:
    """The schema of a series as encoded by results.py: an object with its currency or unit."""
    unit = next((name for name in UNITS if name in fields), "")
    series = {name: fields[name] for name in SERIES if unit and name in fields}
    return fields | {
        name: {
            "type": "object",
            "properties": {unit: fields[unit], UNITS[unit]: {**schema, "type": "object"}},
            "required": [unit, UNITS[unit]],
        }
        for name, schema in series.items()
    }


def _resolve_ref(node: Schema, components: Mapping[str, Schema], ancestors: tuple[str, ...]) -> Schema:
    name = node["$ref"]
    if name in ancestors:
        raise SchemaError(f"{name} contains itself; a tool's schema is a tree")
    siblings = {key: value for key, value in node.items() if key != "$ref"}
    return {**_resolve(components[name], components, (*ancestors, name)), **siblings}


def _number(schema: Schema) -> Schema:
    """The schema of a Decimal, which results.py encodes as a JSON number; also its default, which msgspec writes as
    text."""
    number = {**{key: value for key, value in schema.items() if key != "format"}, "type": "number"}
    if isinstance(number.get("default"), str):
        number["default"] = float(number["default"])
    return number


def _with_enum_type(schema: Schema) -> Schema:
    """An enum of texts with its type: some hosts refuse an enum without one."""
    if any(not isinstance(value, str) for value in schema["enum"]):
        return schema
    return {"type": "string", **schema}


def _strict(schema: Schema) -> Schema:
    strict_schema = {key: value for key, value in schema.items() if key not in ("title", "required")}
    if schema.get("default", ...) in (None, [], {}, ""):
        del strict_schema["default"]
    if "anyOf" in strict_schema:
        strict_schema = _without_null(strict_schema)
    if "properties" in schema:
        strict_schema["properties"] = {
            name: _with_description(name, _strict(value)) for name, value in schema["properties"].items()
        }
        strict_schema["additionalProperties"] = False
        if schema.get("required"):
            strict_schema["required"] = schema["required"]
    if isinstance(strict_schema.get("items"), dict):
        strict_schema["items"] = _strict(strict_schema["items"])
    return strict_schema


def _with_description(name: str, schema: Schema) -> Schema:
    has_none = "description" not in schema and name in _SHARED_DESCRIPTIONS
    return {**schema, "description": _SHARED_DESCRIPTIONS[name]} if has_none else schema


def _without_null(schema: Schema) -> Schema:
    choices = [_strict(choice) for choice in schema["anyOf"] if choice.get("type") != "null"]
    if len(choices) > 1:
        return {**schema, "anyOf": choices}
    siblings = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], **siblings}
