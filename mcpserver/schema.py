"""JSON Schemas of a tool's arguments and answer, made from their msgspec types.

Every MCP revision can read the result: the root is an object, nothing is a `$ref`, and each value of `properties`
is an object. Argument schemas keep descriptions, limits, defaults and enums and refuse unknown fields. Answer
schemas are lean, since all definitions together stay under 40 KB: no titles, no defaults, required fields of
the root alone, and an object inside a row is just an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

ANSWER_DEPTH = 1

Schema = dict[str, Any]


class SchemaError(TypeError):
    """A type that has no place in a tool's schema: recursive, or not an object at the root."""


def arguments_schema(kind: type[msgspec.Struct]) -> Schema:
    """The `inputSchema` of a tool. An optional field is one that may be left out; null needs no mention."""
    return _strict(_inlined(kind))


def answer_schema(kind: type[msgspec.Struct], depth: int = ANSWER_DEPTH) -> Schema:
    """The `outputSchema` of a tool: what every real answer, nulls included, fits. `depth` 0: the root's fields alone."""
    whole = _inlined(kind)
    always = whole.get("required", []) if kind.__struct_config__.omit_defaults else list(whole["properties"])
    return {**_lean(whole, depth), "required": always}


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
    if schema.get("format") == "decimal":
        return _number(schema)
    return _typed(schema) if "enum" in schema else schema


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
    if "properties" in kept:
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


def _lean(schema: Schema, depth: int) -> Schema:
    if "anyOf" in schema:
        return _lean_union(schema, depth)
    kept: Schema = {key: schema[key] for key in ("type", "enum", "description") if key in schema}
    if "properties" in schema and depth >= 0:
        kept["properties"] = {name: _lean(value, depth - 1) for name, value in schema["properties"].items()}
    if schema.get("items") and depth >= 0:
        kept["items"] = _lean(schema["items"], depth)
    return kept


def _lean_union(schema: Schema, depth: int) -> Schema:
    """One type a branch: hosts that know a single `type` drop a list of types, or the whole tool."""
    beside = {"description": schema["description"]} if "description" in schema else {}
    return {"anyOf": [_lean(choice, depth) for choice in schema["anyOf"]], **beside}
