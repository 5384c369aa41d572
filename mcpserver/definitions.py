"""Argument schemas in `tools/list`: in the fewest bytes without losing meaning, since all definitions are in the context
of every conversation, and of the keywords that all hosts keep (ADR 0004).

* Gemini refuses a `format`, an object without properties and a union, google-genai a boolean `additionalProperties`,
  OpenAI's strict mode a default and limits of length. Descriptions say them instead.
* claude.ai drops objects inside of lists of objects. So each value that is an object is listed as JSON text, which is
  decoded like the object (coerce.py).
* An argument that several tools share is complete in one of them, REFERENCES; the others list its type and fields, and
  name that tool for choices and meaning.

The registry keeps the complete schemas, for the REST API and its OpenAPI document.
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
_KEPT: Final = ("type", "enum", "minimum", "maximum", "required")
_EVIDENT: Final = {"minimum": 1}
"""A limit that is obvious: a count has at least one."""


def listed_schemas(schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the listed `inputSchema` of each tool, by name."""
    written_out = {name: schemas[name]["properties"] for name in REFERENCES if name in schemas}
    return {name: _entry_schema(name, schema, written_out) for name, schema in schemas.items()}


def _entry_schema(tool: str, schema: Schema, written_out: Mapping[str, Schema]) -> Schema:
    properties = {
        name: _short(name, argument, {} if tool in written_out else written_out)
        for name, argument in schema.get("properties", {}).items()
    }
    return _plain({**schema, "properties": properties})


def _short(name: str, argument: Schema, written_out: Mapping[str, Schema]) -> Schema:
    for tool, properties in written_out.items():
        shared = properties.get(name)
        is_same = argument == shared or (_has_choices(argument) and _bare(shared) == _bare(argument))
        if shared is not None and is_same:
            reference = _reference_to(argument, tool, shared)
            choices = [argument, reference] if "description" in argument else [reference]
            return min(choices, key=lambda each: len(msgspec.json.encode(each)))
    return argument


def _has_choices(argument: Schema) -> bool:
    """Return whether a schema has choices. The outline of a plain text or number is itself without limits."""
    return "enum" in argument or "items" in argument


def _reference_to(argument: Schema, tool: str, shared: Schema) -> Schema:
    description = argument.get("description", "")
    if description.rstrip(".") in shared["description"]:
        description = ""
    reference = "" if tool in description else f"As in {tool}."
    own_default = "default" in argument and argument["default"] != shared.get("default")
    default = {"default": argument["default"]} if own_default else {}
    return {"description": f"{description} {reference}".strip(), **_outline(argument), **default}


def _outline(schema: Schema) -> Schema:
    """Return types and names of fields, without choices, limits and defaults."""
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
    """Return a schema with the keywords that all hosts keep; its description says the others."""
    plain: Schema = {key: schema[key] for key in _KEPT if key in schema and _EVIDENT.get(key) != schema[key]}
    if "anyOf" in schema:
        plain["type"] = "string"  # a name or an ID
    if "properties" in schema:
        plain["properties"] = {name: _property(field) for name, field in schema["properties"].items()}
    if "items" in schema:
        plain["items"] = _plain(schema["items"])
    description = _description(schema)
    return {"description": description, **plain} if description else plain


def _property(schema: Schema) -> Schema:
    if schema.get("type") != "object":
        return _plain(schema)
    fields = f" with {', '.join(schema['properties'])}" if "properties" in schema else ""
    return {"type": "string", "description": f"{_description(schema)} As JSON text{fields}.".strip()}


def _description(schema: Schema) -> str:
    text: str = schema.get("description", "")
    if schema.get("format") == "date":
        text = f"{text} YYYY-MM-DD."
    if "default" in schema and "Default" not in text:
        text = f"{text} Default: {str(schema['default']).lower()}."
    return text.strip()
