"""What is between this process and PostgreSQL, as far as it can be seen from here."""

from __future__ import annotations

from contextlib import closing
from typing import Final

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

ATTEMPTS: Final = 5


def shares_sessions() -> bool:
    """Whether two connections that are open at once reach one session of PostgreSQL: a pooler gives each transaction
    another connection. One that has just taken a second connection for others may go unseen.

    PgBouncer makes up the process id that a client is told at the start, so that one query says that there is none."""
    with closing(connection.copy()) as first, closing(connection.copy()) as second:
        if _session(first) == first.connection.info.backend_pid:
            return False
        return any(_session(first) == _session(second) for _ in range(ATTEMPTS))


def _session(of: BaseDatabaseWrapper) -> int:
    with of.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
