"""Who runs a sync: one process a connection, and another one as soon as that has died.

As for imports (`finops.costs.services.claims`): a lock of PostgreSQL that is free after kill -9, and `attempts` as the
fence should the lock's connection break while the process lives on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet

from finops.connections.connector import SyncCancellation
from finops.connections.models import UNFINISHED_STATUSES, CostSync
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock

MAX_ATTEMPTS = 6
"""A sync that takes its worker down so often will do so again; the look is one. What it imported stays, and the next one goes on."""


class SyncTakeover(SyncCancellation):
    """Another process has taken this sync up, or it was removed with its source; this one must leave no effect."""


@contextmanager
def claim_sync(sync_id: int) -> Iterator[CostSync | None]:
    """The sync, now running and ours; None when it is finished, or its connection is synced elsewhere."""
    # Unscoped: a worker names the row itself.
    row = CostSync.objects.unscoped().filter(pk=sync_id, status__in=UNFINISHED_STATUSES).first()
    if row is None:
        yield None
        return
    with advisory_lock(f"cost connection {row.connection_id}") as is_ours:
        yield _begin(sync_id) if is_ours else None


def update(sync: CostSync, **values: object) -> None:
    """Change the row while it is this attempt's. Raises SyncTakeover otherwise."""
    if not _ours(sync).update(**values):
        raise SyncTakeover(f"sync {sync.pk} is no longer run by attempt {sync.attempts}")


def update_running(sync: CostSync, **values: object) -> None:
    """The same; raises SyncCancellation once a person canceled it."""
    if not _ours(sync).filter(cancel_requested_at=None).update(**values):
        update(sync, **values)
        raise SyncCancellation


def lock_sync(sync: CostSync) -> None:
    """Hold the row until the transaction ends. Raises SyncTakeover when it is not this attempt's any more."""
    if not list(_ours(sync).select_for_update().values_list("pk", flat=True)):
        raise SyncTakeover(f"sync {sync.pk} is no longer run by attempt {sync.attempts}")


def _ours(sync: CostSync) -> QuerySet[CostSync]:
    # Unscoped: a worker names the row itself.
    return CostSync.objects.unscoped().filter(
        pk=sync.pk, status=CostSync.SyncStatus.RUNNING, attempts=sync.attempts
    )


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
