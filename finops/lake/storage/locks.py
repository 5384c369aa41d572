"""Locks in PostgreSQL that last until the end of the transaction, or of a block."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection

from accounts.models import Account
from finops.lib.advisory_lock import advisory_lock, lock_until_commit

_FILES: Final = "lake files"


def lock_usage(account: Account) -> None:
    """Wait for the exclusive right to move, rewrite or remove the account's usage; held until the transaction ends.

    Flush, the last step of a merge, void, retention and the deletion of a source take this lock, so none of them sees
    another half done. Pushes and queries never take it.
    """
    lock_until_commit(_usage_lock_name(account))


def try_lock_usage(account: Account) -> bool:
    """Take the same lock without waiting; return False when another transaction holds it."""
    return _try_lock(_usage_lock_name(account))


def try_lock_compaction(segment_ids: Collection[int]) -> bool:
    """Take the locks for merging these segments until the transaction ends; return False if another transaction holds
    one of them. Locks are taken in the order of the ids, so of two callers with common segments one gets all of its
    locks."""
    return all(_try_lock(f"usage merge of segment {pk}") for pk in sorted(segment_ids))


def try_lock_rollups(segment_id: int) -> bool:
    """Take the lock for rolling up the segment until the transaction ends; return False when another holds it."""
    return _try_lock(f"cost summaries of segment {segment_id}")


@contextmanager
def removing_files() -> Iterator[bool]:
    """Yield whether files may be removed now; no backup begins while the block lasts. Removers do not exclude each other."""
    with advisory_lock(_FILES, shared=True) as is_free:
        yield is_free


@contextmanager
def holding_files(wait_seconds: float) -> Iterator[bool]:
    """Prevent removal of lake files while the block lasts. Waits this long for running removers and for another such block;
    yields False when they took longer."""
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
