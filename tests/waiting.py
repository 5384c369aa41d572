"""Threads of tests, and waiting for another thread or the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connection

# Long, because the machine may be busy.
PATIENCE_SECONDS = 60


@contextmanager
def threads(count: int) -> Iterator[Callable[..., Future[Any]]]:
    """Yield a function that calls functions in threads; each call closes its database connection."""

    def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        yield lambda function, *args, **kwargs: pool.submit(call, function, *args, **kwargs)


def wait_until(
    condition: Callable[[], bool],
    problem: str | Callable[[], str] = "it did not come about",
    *,
    seconds: float = PATIENCE_SECONDS,
    pause: float = 0.005,
) -> None:
    """Wait until the condition holds. Raises AssertionError with the problem after this many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(problem if isinstance(problem, str) else problem())
        threading.Event().wait(pause)


def is_blocking_others() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def waiting() -> int:
    """Return how many sessions of this database wait for a lock.

    PostgreSQL keeps one snapshot of `pg_stat_activity` for a whole transaction. Without clearing it, sessions that
    connect after the first call would be missing in later calls.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) "
            "WHERE NOT granted AND datname = current_database()"
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
