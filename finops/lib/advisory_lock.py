"""Named locks across processes and machines, as advisory locks of PostgreSQL.

A transaction holds the lock, on a connection of its own that does nothing else. The lock ends with the block or with the
process, however the process ends. A session lock would too, but a pooler that gives each transaction another connection
would leave it with the next user of that connection; an open transaction keeps its connection even there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper

log = logging.getLogger(__name__)

# Managed servers end idle transactions; this one is idle until its block ends.
_LOCK = """
SELECT set_config('idle_in_transaction_session_timeout', '0', true), pg_try_advisory_xact_lock{mode}(hashtextextended(%s, 0))
"""
_EXCLUSIVE, _SHARED = _LOCK.format(mode=""), _LOCK.format(mode="_shared")


class _HeldLocks(threading.local):
    def __init__(self) -> None:
        self.names: set[str] = set()


_held_locks = _HeldLocks()


def lock_until_commit(name: str) -> None:
    """Wait for the lock of this name and hold it until the transaction of this connection ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


@contextmanager
def advisory_lock(name: str, *, shared: bool = False) -> Iterator[bool]:
    """Take the lock of this name without waiting and yield whether it was free; it is held while the block lasts. The
    thread that holds the lock may take it again. `shared` blocks exclude only blocks that are not shared. Cost: one query,
    and a second connection of the pool while the block lasts."""
    if name in _held_locks.names:
        yield True
        return
    lock_connection = connection.copy()
    try:
        lock_connection.set_autocommit(False)
        with lock_connection.cursor() as cursor:
            cursor.execute(_SHARED if shared else _EXCLUSIVE, [name])
            is_acquired = bool(cursor.fetchone()[1])
        if not is_acquired:
            lock_connection.rollback()
            lock_connection.close()
            yield False
            return
        _held_locks.names.add(name)
        try:
            yield True
        finally:
            _held_locks.names.discard(name)
            _end(lock_connection, name)
    finally:
        lock_connection.close()


def _end(lock_connection: BaseDatabaseWrapper, name: str) -> None:
    """End the lock's transaction. The work under the lock is done, so a lock that was lost early is logged and is no
    failure."""
    try:
        lock_connection.rollback()
    except Error:
        log.warning(
            "the connection that held the lock %r broke before its work was done", name, exc_info=True
        )
