"""Locks in PostgreSQL that last until the end of the transaction, or of a block."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection

from accounts.models import Account
from finops.lib.advisory_lock import advisory_lock, lock_until_commit

_FILES: Final = "lake files"


def lock_usage(account: Account) -> None:
    """Wait until nobody else moves, rewrites or removes usage of the account; held until the transaction ends.

    Flush, the last step of a merge, void, retention and the end of a source take it, so none of them sees another
    half done. Pushes and questions never do.
    """
    lock_until_commit(_usage_lock_name(account))


def try_lock_usage(account: Account) -> bool:
    """The same without waiting: False when somebody else has it."""
    return _try_lock(_usage_lock_name(account))


def try_lock_compaction(account: Account) -> bool:
    """Whether nobody else merges segments of the account; then nobody else does until the transaction ends."""
    return _try_lock(f"usage merge {account.pk}")


def try_lock_rollups(account: Account) -> bool:
    """Whether nobody else summarises segments of the account; then nobody else does until the transaction ends."""
    return _try_lock(f"cost summaries {account.pk}")


@contextmanager
def removing_files() -> Iterator[bool]:
    """Whether files may be removed now; then no backup begins while the block lasts. Removers do not exclude each other."""
    with advisory_lock(_FILES, shared=True) as is_free:
        yield is_free


@contextmanager
def holding_files(wait_seconds: float) -> Iterator[bool]:
    """No file of the lake is removed while the block lasts. Waits so long for removers that are under way, and for another
    such block; False when they took longer."""
    deadline = time.monotonic() + wait_seconds
    while True:
        with advisory_lock(_FILES) as is_held:
            if is_held or time.monotonic() >= deadline:
                yield is_held
                return
        time.sleep(0.5)


def _usage_lock_name(account: Account) -> str:
    return f"usage {account.pk}"


def _try_lock(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        return bool(cursor.fetchone() == (True,))
