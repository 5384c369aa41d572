"""Claims of syncs: one process for each connection, and another one as soon as that has died.

As for imports (`finops.costs.services.claims`): a PostgreSQL lock that is released by kill -9, and a fence
(`finops.lib.jobs`) in case the lock's connection breaks while the process continues.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import transaction

from finops.connections.connector import SyncCancellation
from finops.connections.models import UNFINISHED_STATUSES, CostSync
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.jobs import AttemptFence

MAX_ATTEMPTS = 6
"""Maximum number of attempts of a sync that kills its worker, including the listing. Imported months stay, and the
next sync continues."""


class SyncTakeover(SyncCancellation):
    """Another process claimed this sync, or it was deleted with its source; this process must write nothing."""


# Unscoped: a worker names the row itself.
fence: Final = AttemptFence(CostSync.objects.unscoped, takeover=SyncTakeover, cancellation=SyncCancellation)


@contextmanager
def claim_sync(sync_id: int) -> Iterator[CostSync | None]:
    """Return the sync, marked as running by this process; None if it has ended, or another process syncs its connection."""
    # Unscoped: a worker names the row itself.
    row = CostSync.objects.unscoped().filter(pk=sync_id, status__in=UNFINISHED_STATUSES).first()
    if row is None:
        yield None
        return
    with advisory_lock(f"cost connection {row.connection_id}") as has_lock:
        yield _begin(sync_id) if has_lock else None


@transaction.atomic
def _begin(sync_id: int) -> CostSync | None:
    # Unscoped: a worker names the row itself.
    rows = CostSync.objects.unscoped().select_related(
        "account",
        "connection__source",
        "connection__usage_source__account",
        "connection__event_source__account",
    )
    sync = rows.select_for_update(of=("self",)).filter(pk=sync_id, status__in=UNFINISHED_STATUSES).first()
    if sync is None:
        return None
    sync.status, sync.stage = CostSync.SyncStatus.RUNNING, "listing"
    sync.attempts += 1
    sync.bytes_total = sync.bytes_done = 0
    sync.started_at = sync.heartbeat_at = clock.now()
    fields = ["status", "stage", "attempts", "bytes_total", "bytes_done", "started_at", "heartbeat_at"]
    sync.save(update_fields=fields)
    return sync
