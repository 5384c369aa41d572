"""Statements that are run all the time: their values travel beside them, and PostgreSQL plans them once a connection.

Django's own cursor writes values into the statement's text, so PostgreSQL parses and plans each anew (0.1 to 0.6 ms of
the push door's), and bytes double in size. Errors are Django's, and queries are counted as all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg.pq import Format


def execute(statement: str, values: Sequence[Any] | dict[str, Any]) -> int:
    """Run it; how many rows it touched."""
    with _cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def fetch(statement: str, values: Sequence[Any] | dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows that it gives. They come in PostgreSQL's binary forms, so bytes as they are."""
    with _cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


@contextmanager
def _cursor() -> Iterator[Any]:
    connection.ensure_connection()
    with connection.wrap_database_errors:
        bound: Any = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]
        bound.format = Format.BINARY
    with connection._prepare_cursor(bound) as cursor:  # type: ignore[attr-defined] # so that it is logged and counted
        yield cursor
