"""Prepared statements for the most frequent queries: values are sent separately, and PostgreSQL plans once a connection.

Django's own cursor writes values into the statement's text, so PostgreSQL parses and plans each anew (0.1 to 0.6 ms of a
push request), and bytes double in size. Errors are Django's, and queries are counted like all others.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import psycopg
from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg.adapt import Dumper
from psycopg.pq import Format

_UUID: Final = psycopg.adapters.types["uuid"]
_UUID_SIZE: Final = (16).to_bytes(4)
_ARRAY_HEADER: Final = struct.Struct("!iiIii")
_EMPTY_ARRAY: Final = struct.Struct("!iiI").pack(0, 0, _UUID.oid)


class UuidArray:
    """A parameter of type uuid[], from the 16 bytes of each value.

    psycopg takes a millisecond for a list of a thousand, and PostgreSQL half a millisecond to read it as text.
    """

    def __init__(self, values: Collection[bytes]) -> None:
        header = _ARRAY_HEADER.pack(1, 0, _UUID.oid, len(values), 1)
        self.data = header + _UUID_SIZE + _UUID_SIZE.join(values) if values else _EMPTY_ARRAY


class _UuidArrayDumper(Dumper):
    format = Format.BINARY
    oid = _UUID.array_oid

    def dump(self, obj: UuidArray) -> bytes:
        return obj.data


psycopg.adapters.register_dumper(UuidArray, _UuidArrayDumper)


def execute(statement: str, values: Sequence[Any] | dict[str, Any]) -> int:
    """Run the statement and return how many rows it changed."""
    with _cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def fetch(statement: str, values: Sequence[Any] | dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the statement's rows, in PostgreSQL's binary formats, so bytes are not converted."""
    with _cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


class Statement(NamedTuple):
    """A statement with the values of its placeholders, in order."""

    text: str
    values: Sequence[Any]


def execute_together(*statements: Statement) -> None:
    """Run statements as one, in one round trip. All but the last write rows (INSERT, UPDATE, DELETE); none reads what
    another writes."""
    text = _join(tuple(each.text for each in statements))
    execute(text, [value for each in statements for value in each.values])


def execute_if(condition: Statement, *statements: Statement) -> bool | None:
    """Run statements as one if the row of `condition` is true, and return what it is; None without a row.

    Each statement is a SELECT, or an INSERT of one, of values without FROM. The condition comes first: it may lock or write.
    """
    text = _join_if(condition.text, tuple(each.text for each in statements))
    rows = fetch(text, [*condition.values, *(value for each in statements for value in each.values)])
    return bool(rows[0][0]) if rows else None


@functools.lru_cache(maxsize=64)
def _join_if(condition: str, texts: tuple[str, ...]) -> str:
    # PostgreSQL runs each INSERT, but a SELECT, such as of a function that writes, only if the last part reads it.
    # ruff's S608: all texts are constants of the product.
    parts = [f"precondition AS MATERIALIZED (SELECT is_met FROM ({condition}) AS checked(is_met))"]  # noqa: S608
    counts = ""
    for number, text in enumerate(texts):
        is_select = text.startswith("SELECT")
        kind = "MATERIALIZED " if is_select else ""
        parts.append(f"part_{number} AS {kind}({text} FROM precondition WHERE is_met)")
        counts += f", (SELECT count(*) FROM part_{number})" if is_select else ""  # noqa: S608
    return f"WITH {', '.join(parts)} SELECT is_met{counts} FROM precondition"  # noqa: S608


@functools.lru_cache(maxsize=64)
def _join(texts: tuple[str, ...]) -> str:
    # PostgreSQL runs every writing part of a WITH, also one that nothing refers to.
    *writes, last = texts
    parts = [f"write_{number} AS ({text})" for number, text in enumerate(writes)]
    return f"WITH {', '.join(parts)} {last}" if parts else last


@contextmanager
def _cursor() -> Iterator[Any]:
    connection.ensure_connection()
    with connection.wrap_database_errors:
        bound: Any = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]
        bound.format = Format.BINARY
    with connection._prepare_cursor(bound) as cursor:  # type: ignore[attr-defined] # so that it is logged and counted
        yield cursor
