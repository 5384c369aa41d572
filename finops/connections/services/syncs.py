"""Queue of syncs, requested by a person or the schedule, at most one unfinished for each connection; the row is the queue entry."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, Window
from django.db.models.functions import RowNumber

from accounts import audit
from accounts.audit import Actor
from accounts.limits import older_than_retention
from accounts.scoping import account_scope
from finops.connections.models import UNFINISHED_STATUSES, CostConnection, CostSync
from finops.connections.schedule import next_sync
from finops.connections.services import sync_run
from finops.connections.services.sync_claims import claim_sync
from finops.lib import clock, disk
from finops.lib.errors import UserError
from finops.worker.broker import publish

LISTING_TASK: Final = "connections.look"
RUN_TASK: Final = "connections.run_sync"
MESSAGE_SECONDS: Final = 3600

QUIET_RETENTION: Final = timedelta(days=2)
"""How long syncs without new data are kept: an hourly source has 24 a day."""
NEWEST_KEPT: Final = 20
"""Number of newest syncs of each connection that are kept, whatever their age."""

SyncStatus = CostSync.SyncStatus


@transaction.atomic
def queue_sync(
    *, connection: CostConnection, actor: Actor, trigger: CostSync.SyncTrigger = CostSync.SyncTrigger.MANUAL
) -> CostSync:
    """Queue a sync of a connection, also of a paused one. Raises UserError if a sync of it is queued or running."""
    sync = CostSync(
        account=connection.account,
        connection=connection,
        trigger=trigger,
        actor_label=actor.label[:254],
        actor_user=actor.user,
    )
    try:
        with transaction.atomic():
            sync.save(force_insert=True)
    except IntegrityError:
        raise UserError("A sync of this source is queued or running already.") from None
    _record(sync, actor, "queue")
    account_id, pk = sync.account_id, sync.pk
    transaction.on_commit(lambda: publish(LISTING_TASK, account_id, pk, expires=MESSAGE_SECONDS))
    return sync


@transaction.atomic
def cancel_sync(*, sync: CostSync, actor: Actor) -> CostSync:
    """Cancel a sync: a queued one at once, a running one within seconds. Imported months stay. Idempotent. Raises
    UserError if it has ended."""
    with account_scope(sync.account):
        rows = CostSync.objects.select_for_update(of=("self",)).select_related("connection", "account")
        row = rows.get(pk=sync.pk)
    if row.status not in UNFINISHED_STATUSES:
        raise UserError(f"This sync is {SyncStatus(row.status).label.lower()} and can no longer be canceled.")
    if row.cancel_requested_at is not None:
        return row
    row.cancel_requested_at = clock.now()
    if row.status == SyncStatus.QUEUED:
        row.status, row.finished_at = SyncStatus.CANCELED, row.cancel_requested_at
        _skip_due_time(row.connection, row.cancel_requested_at)
    row.save(update_fields=["status", "finished_at", "cancel_requested_at"])
    _record(row, actor, "cancel")
    return row


def _skip_due_time(connection: CostConnection, now: datetime) -> None:
    """Set the next due time; otherwise the schedule would queue the same sync again within a minute."""
    # Unscoped: the connection of the sync.
    due = CostConnection.objects.unscoped().filter(pk=connection.pk, next_sync_at__lte=now)
    due.update(next_sync_at=next_sync(connection.pk, connection.interval_minutes, now))


def queue_due_syncs() -> int:
    """Queue a sync for each due connection without an unfinished one; returns their number. Two queries."""
    # Unscoped: the schedule serves every account.
    unfinished = CostSync.objects.unscoped().filter(connection=OuterRef("pk"), status__in=UNFINISHED_STATUSES)
    connections = CostConnection.objects.unscoped().filter(
        paused_at=None, next_sync_at__lte=clock.now(), account__suspended_at=None
    )
    due = connections.exclude(Exists(unfinished)).order_by("next_sync_at").values_list("pk", "account_id")
    syncs = [CostSync(account_id=account_id, connection_id=pk) for pk, account_id in due]
    # A unique constraint drops the second of two concurrent inserts.
    CostSync.objects.unscoped().bulk_create(syncs, ignore_conflicts=True)
    return len(syncs)


def unfinished_syncs() -> list[tuple[str, int, int]]:
    """Return task, account and id of syncs for workers: queued ones, and running ones whose process may have died; oldest first.
    Listings come before any reading, so that a source without changes does not wait for one that reads years."""
    # Unscoped: the queue serves every account.
    rows = CostSync.objects.unscoped().filter(status__in=UNFINISHED_STATUSES).order_by("pk")
    return [
        (RUN_TASK if months else LISTING_TASK, account_id, pk)
        for account_id, pk, months in rows.values_list("account_id", "pk", "months_listed")
    ]


def check_for_changes(sync_id: int, *, in_child: bool = False) -> bool:
    """List the months of a queued sync, with `in_child` in a child process, and end it if nothing changed. Returns
    whether it has months to read: then it is queued for `run_sync`. Safe to call twice, as `run_sync`."""
    if _run(sync_id, in_child=in_child, list_only=True):
        # Unscoped: a worker names the row itself.
        return CostSync.objects.unscoped().filter(pk=sync_id, status=SyncStatus.QUEUED).exists()
    return False


def run_sync(sync_id: int, *, in_child: bool = False) -> bool:
    """Run a queued sync, or continue one whose process died. Returns False if it cannot run now: it has ended, another process
    syncs its connection, or disk space is low.

    Safe to call twice, concurrently, and after kill -9 at any moment: months are replaced atomically, and an imported month is not
    read again. Errors are stored in the row. With `in_child` months are listed, fetched and imported in child processes.
    """
    return _run(sync_id, in_child=in_child, list_only=False)


def _run(sync_id: int, *, in_child: bool, list_only: bool) -> bool:
    if disk.low_disk():
        return False
    with claim_sync(sync_id) as sync:
        if sync is None:
            return False
        with account_scope(sync.account):
            sync_run.run(sync, in_child=in_child, list_only=list_only)
    return True


def remove_old_syncs() -> int:
    """Remove old syncs, and sooner those without new data; the newest of each connection stay. Returns their number."""
    newest = Window(RowNumber(), partition_by=F("connection_id"), order_by=F("pk").desc())
    # Unscoped: the sweep serves every account.
    rows = CostSync.objects.unscoped().exclude(status__in=UNFINISHED_STATUSES).annotate(place=newest)
    is_quiet = Q(status=SyncStatus.DONE, months_imported=0, finished_at__lt=clock.now() - QUIET_RETENTION)
    expired = older_than_retention("SYNC_DAYS", "finished_at") | is_quiet
    # A separate query: conditions beside the window would apply before it, and only old syncs would be numbered.
    beyond = rows.filter(place__gt=NEWEST_KEPT).values("pk")
    removed: int = (
        CostSync.objects.unscoped().filter(expired, pk__in=beyond).delete()[1].get(CostSync._meta.label, 0)
    )
    return removed


def cancel_queued_sync(connection: CostConnection) -> None:
    """Cancel the queued sync of a connection, if there is one."""
    CostSync.objects.filter(connection=connection, status=SyncStatus.QUEUED).update(
        status=SyncStatus.CANCELED, finished_at=clock.now()
    )


def _record(sync: CostSync, actor: Actor, action: str) -> None:
    audit.record(
        account=sync.account,
        actor=actor,
        action=f"cost_sync.{action}",
        target=sync.connection.target.name,
        detail={"sync_id": sync.pk},
    )
