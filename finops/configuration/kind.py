"""The base class of a kind in configuration as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from accounts.audit import Actor
from accounts.models import Account

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
