"""The base class of a kind in configuration as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from accounts.audit import Actor
from accounts.models import Account
from finops.lib.errors import UserError, nearest_choices
from finops.lib.renamed_fields import new_name

Body = dict[str, Any]
"""A row as the file has it: texts, lists and maps, without what is at its default."""

Bodies = Mapping[str, Body]
"""By the name that the file calls a row."""


@dataclass(frozen=True)
class ConfigurationKind:
    """`read` gives a raw entry's name and body, and raises UserError or ValidationError of msgspec; `write` creates and
    changes rows; `delete` deletes the named ones, whose claims `release` ends before anything is written. The account
    is in scope for all but `read`."""

    name: str
    rows: Callable[[], dict[str, Body]]
    read: Callable[[Any], tuple[str, Body]]
    write: Callable[[Account, Actor, Bodies], None]
    delete: Callable[[Actor, Sequence[str]], None]
    release: Callable[[Actor, Sequence[str]], None] | None = None


_type_of = cache(inspect.type_info)
Entry = TypeVar("Entry", bound=msgspec.Struct)


def read_entry(raw: Any, kind: type[Entry], place: str = "") -> Entry:
    """Return a raw entry of a file as its struct; `place` is its address in an entry of which it is a part. Raises
    UserError for a field that the struct does not have, with its new name if it was renamed, and
    msgspec.ValidationError."""
    _check_names(raw, _type_of(kind), place)
    return msgspec.convert(raw, kind, strict=False)


def _check_names(raw: Any, kind: inspect.Type, place: str) -> None:
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.ListType) and isinstance(raw, list):
        for index, each in enumerate(raw):
            _check_names(each, kind.item_type, f"{place}[{index}]")
    if not isinstance(kind, inspect.StructType) or not isinstance(raw, dict):
        return
    fields = {field.encode_name: field.type for field in kind.fields}
    for name, value in raw.items():
        where = f"{place}.{name}" if place else str(name)
        if name not in fields:
            close = nearest_choices(str(name), fields, limit=3)
            hint = f" Nearest: {', '.join(close)}." if close else ""
            if current := new_name(str(name), fields):
                hint = f' It is called "{current}".'
            raise UserError(f"{where} does not exist.{hint} Fields: {', '.join(fields)}.", field=where)
        _check_names(value, fields[name], where)


def body_of(entry: msgspec.Struct) -> Body:
    """By equality: `omit_defaults` of msgspec compares texts by identity, and a text of the database is another object."""
    body: Body = msgspec.to_builtins(entry)
    return {
        field.encode_name: body[field.encode_name]
        for field in msgspec.structs.fields(entry)
        if field.required or (body[field.encode_name] and getattr(entry, field.name) != field.default)
    }


def plain_decimal(amount: Decimal) -> str:
    """Without trailing zeros and exponent: 1000 and 1000.00 are the same text."""
    return f"{amount.normalize():f}"
