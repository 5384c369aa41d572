"""What `tools/list` says of a tool's arguments, in the fewest bytes that lose nothing: all definitions are in the context
of every conversation (ADR 0004).

An argument that several tools share is written out at one of them, REFERENCES; the others list its type and fields, and
name that tool for choices and meaning. The registry keeps the whole schemas, for the REST API and its OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

Schema = dict[str, Any]

REFERENCES: Final = ("querySpend", "create_dashboard", "create_budget")
"""Tools that write their arguments out. Whoever may call another tool with the same argument may call them too."""

_WORDS: Final = frozenset({"description", "default"})
_OUTLINE: Final = frozenset({"type", "format", "anyOf"})
_EVIDENT: Final = {"minimum": 1, "minLength": 1, "minItems": 1}
"""Limits that nobody would break: a count, a name or a list of something is at least one."""

_MANY: Final = 20
"""Lists that may be so long are listed without their limit; a longer one is refused with it."""

_DAYS: Final = {"start_date": "With end_date, inclusive."}
"""Arguments that querySpend says enough of."""


def listed_schemas(schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """The `inputSchema` of each tool as it is listed, by name."""
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
    """A text or number by itself is its own outline, but for limits, which are its own."""
    return "enum" in argument or "items" in argument


def _reference_to(argument: Schema, tool: str, shared_description: str) -> Schema:
    description = argument.get("description", "")
    if description.rstrip(".") in shared_description:
        description = ""
    reference = "" if tool in description else f"As in {tool}."
    default = {"default": argument["default"]} if "default" in argument else {}
    return {"description": f"{description} {reference}".strip(), **_outline(argument), **default}


def _outline(schema: Schema) -> Schema:
    """Types and names of fields, without choices, limits and words."""
    outline = {key: value for key, value in schema.items() if key in _OUTLINE}
    if "properties" in schema:
        outline["properties"] = {name: _outline(field) for name, field in schema["properties"].items()}
    if "items" in schema:
        outline["items"] = _outline(schema["items"])
    return outline


def _bare(value: Any) -> Any:
    """What a schema allows, without its words."""
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
    """Without what need not be said: unknown fields inside are refused as those of the root are, which says so."""
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
