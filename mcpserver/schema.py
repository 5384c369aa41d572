"""JSON Schemas of a tool's arguments and answer, made from their msgspec types.

Every MCP revision can read the result: the root is an object, nothing is a `$ref`, and each value of `properties`
is an object. Argument schemas keep descriptions, limits, defaults and enums and refuse unknown fields. Answer
schemas are lean, since all definitions together stay under 40 KB (ADR 0004): the answer's own fields and their types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from mcpserver.results import SERIES, UNITS

Schema = dict[str, Any]


class SchemaError(TypeError):
    """A type that has no place in a tool's schema: recursive, or not an object at the root."""


def arguments_schema(kind: type[msgspec.Struct]) -> Schema:
    """The `inputSchema` of a tool. An optional field is one that may be left out; null needs no mention."""
    return _strict(_inlined(kind))


def answer_schema(kind: type[msgspec.Struct], known: Collection[str] = ()) -> Schema:
    """The `outputSchema` of a tool: its own fields with their types, for every host to check; `known` are those that
    every answer has and the server's instructions tell of. What may be null or several things is left out."""
    fields = whole_answer_schema(kind)["properties"].items()
    types = {name: {"type": value["type"]} for name, value in fields if name not in known and "type" in value}
    return {"type": "object", "properties": types}


def whole_answer_schema(kind: type[msgspec.Struct]) -> Schema:
    """All that the types of an answer say: what every real answer, nulls included, fits. Too long for assistants."""
    return _inlined(kind)


def _inlined(kind: type[msgspec.Struct]) -> Schema:
    (root,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    schema: Schema = _resolve(root, components, ())
    if schema.get("type") != "object":
        raise SchemaError(f"{kind.__name__} is no object, so it cannot be a tool's arguments or answer")
    return schema


def _resolve(node: Any, components: Mapping[str, Schema], inside: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_resolve(item, components, inside) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _resolve_ref(node, components, inside)
    schema = {key: _resolve(value, components, inside) for key, value in node.items()}
    if isinstance(node.get("properties"), dict):
        schema["properties"] = _with_units(schema["properties"])
    if schema.get("format") == "decimal":
        return _number(schema)
    return _typed(schema) if "enum" in schema else schema


def _with_units(fields: dict[str, Schema]) -> dict[str, Schema]:
    """As answers travel, see results.py: a series is an object with its currency or unit."""
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


def _resolve_ref(node: Schema, components: Mapping[str, Schema], inside: tuple[str, ...]) -> Schema:
    name = node["$ref"]
    if name in inside:
        raise SchemaError(f"{name} contains itself; a tool's schema is a tree")
    beside = {key: value for key, value in node.items() if key != "$ref"}
    return {**_resolve(components[name], components, (*inside, name)), **beside}


def _number(schema: Schema) -> Schema:
    """A Decimal travels as a JSON number, see results.py."""
    return {**{key: value for key, value in schema.items() if key != "format"}, "type": "number"}


def _typed(schema: Schema) -> Schema:
    """An enum of texts says so: some hosts refuse an enum without a type."""
    if any(not isinstance(value, str) for value in schema["enum"]):
        return schema
    return {"type": "string", **schema}


def _strict(schema: Schema) -> Schema:
    kept = {key: value for key, value in schema.items() if key not in ("title", "required")}
    if schema.get("default", ...) in (None, [], {}, ""):
        del kept["default"]
    if "anyOf" in kept:
        kept = _without_null(kept)
    if "properties" in schema:
        kept["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        kept["additionalProperties"] = False
        if schema.get("required"):
            kept["required"] = schema["required"]
    if isinstance(kept.get("items"), dict):
        kept["items"] = _strict(kept["items"])
    return kept


def _without_null(schema: Schema) -> Schema:
    choices = [_strict(choice) for choice in schema["anyOf"] if choice.get("type") != "null"]
    if len(choices) > 1:
        return {**schema, "anyOf": choices}
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], **beside}
