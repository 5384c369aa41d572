"""URL parameters parsed into typed queries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec

from finops.lib.errors import UserError, unknown_value

Query = TypeVar("Query", bound=msgspec.Struct)

_UNKNOWN_CHOICE: Final = re.compile(r"Invalid enum value '(.*)'", re.DOTALL)


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a Struct. Cached, because reading the annotations takes a quarter of a millisecond."""
    return msgspec.structs.fields(kind)


def from_text(raw: Mapping[str, Any], kind: type[Query]) -> Query:
    """Return a Struct from texts, parsed by the types of its fields. Raises UserError that names the parameter."""
    try:
        return msgspec.convert(raw, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _bad_param(error, kind) from error


def id_of(text: str) -> int | None:
    """Parse a row id; None for any other text. PostgreSQL has no larger ids, and int() refuses long texts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def as_arguments(query: msgspec.Struct) -> str:
    """Return the arguments of the same query for an MCP client's tool, as readable JSON; defaults are left out."""
    values = msgspec.to_builtins(query)
    arguments = {
        field.encode_name: values[field.encode_name]
        for field in msgspec.structs.fields(query)
        if values[field.encode_name] not in (None, [], field.default)
    }
    return json.dumps(arguments, indent=2, ensure_ascii=False)


def _bad_param(error: msgspec.ValidationError, kind: type[msgspec.Struct]) -> UserError:
    text, _, place = str(error).partition(" - at `")
    field = place.rstrip("`").removeprefix("$.").partition("[")[0]
    if choice := _UNKNOWN_CHOICE.fullmatch(text):
        return unknown_value(field, choice[1], _choices_of(kind, field))
    return UserError(f"{field}: {text}." if field else f"{text}.", field=field)


def _choices_of(kind: type[msgspec.Struct], field: str) -> list[str]:
    """Return the texts that a field takes, of its Literal, also in an optional or a list."""
    pending = [each.type for each in fields_of(kind) if each.encode_name == field]
    choices: list[str] = []
    while pending:
        each = pending.pop()
        if get_origin(each) is Literal:
            choices += map(str, get_args(each))
        else:
            pending += get_args(each)
    return choices
