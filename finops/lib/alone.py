"""One at a time, whichever process or machine it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def alone(name: str) -> Iterator[bool]:
    """Whether nobody else is in a block of this name; then nobody is while this one lasts. It does not wait.

    A lock of PostgreSQL, which ends with the connection at the latest. Two queries."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name])
        mine = bool(cursor.fetchone()[0])
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])
