"""Fields, parameters and statuses of an OpenAPI document, for the reference pages of the console.

The pages have no text of their own: a limit or a description that changes in the document changes on the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    required: bool
    rule: str


@dataclass(frozen=True)
class Parameter:
    """A parameter or header."""

    name: str
    place: str
    description: str


@dataclass(frozen=True)
class ResponseStatus:
    code: str
    phrase: str
    description: str
    headers: list[str]


def fields_of(schema: Schema) -> list[Field]:
    """The properties of an object, in its order."""
    required = schema.get("required", [])
    return [_field(name, each, name in required) for name, each in schema["properties"].items()]


def _field(name: str, schema: Schema, required: bool) -> Field:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = " or ".join(kinds)
    if "additionalProperties" in schema and "properties" not in schema:
        kind = kind.replace("object", "object of strings")
    bounds = ""
    if "maxLength" in schema:
        bounds = f"{schema.get('minLength', 0)} to {schema['maxLength']} characters. "
    if "exclusiveMaximum" in schema:
        bounds = f"Below 10^{len(str(schema['exclusiveMaximum'])) - 1} in size. "
    if "enum" in schema:
        bounds = f"One of {', '.join(schema['enum'])}. "
    return Field(name, kind, required, bounds + schema.get("description", ""))


def parameter_of(schema: Schema) -> Parameter:
    allowed = ", ".join(schema["schema"].get("enum", []))
    description = schema.get("description") or f"One of {allowed}."
    return Parameter(schema["name"], schema["in"], description)


def headers_of(response: Schema) -> list[Parameter]:
    """The headers of a response."""
    return [
        Parameter(name, "answer", schema.get("description", ""))
        for name, schema in response["headers"].items()
    ]


def status_of(code: str, response: Schema) -> ResponseStatus:
    # The document is Markdown, the page is not.
    description = response["description"].replace("`", "")
    return ResponseStatus(code, HTTPStatus(int(code)).phrase, description, list(response["headers"]))
