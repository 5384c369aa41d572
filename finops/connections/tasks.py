"""Tasks of connections. No task depends on a broker message: the database decides which syncs are due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostPush, CostSync
from finops.connections.services import push_run, pushes
from finops.connections.services.syncs import LISTING_TASK, MESSAGE_SECONDS, RUN_TASK


@shared_task(name=RUN_TASK)
def run_sync(account_id: int, sync_id: int) -> None:
    """Run one sync of an account. Does nothing if it belongs to another account, has ended, or runs elsewhere."""
    if _is_of_account(account_id, sync_id):
        services.run_sync(sync_id, in_child=True)


@shared_task(name=LISTING_TASK)
def check_for_changes(account_id: int, sync_id: int) -> None:
    """List the months of one sync, and start `run_sync` if there are months to read."""
    if _is_of_account(account_id, sync_id) and services.check_for_changes(sync_id, in_child=True):
        run_sync.apply_async([account_id, sync_id], expires=MESSAGE_SECONDS)


@shared_task(name="connections.run_due_syncs")
def run_due_syncs() -> None:
    """Every 15 seconds: queue a sync for each due connection, and a task for each sync that no process runs."""
    services.queue_due_syncs()
    tasks = {LISTING_TASK: check_for_changes, RUN_TASK: run_sync}
    for name, account_id, sync_id in services.unfinished_syncs():
        tasks[name].apply_async([account_id, sync_id], expires=15)


@shared_task(name="connections.sweep")
def sweep() -> None:
    """Daily: remove old syncs."""
    services.remove_old_syncs()


@shared_task(name=pushes.RUN_TASK)
def run_push(account_id: int, push_id: int) -> None:
    """Import one committed push of an account. Does nothing if it belongs to another account, has ended, or runs elsewhere."""
    # Unscoped: a task names the account itself.
    if CostPush.objects.unscoped().filter(pk=push_id, account_id=account_id).exists():
        push_run.run_push(push_id, in_child=True)


@shared_task(name="connections.run_due_pushes")
def run_due_pushes() -> None:
    """Every 15 seconds: queue a task for each push whose message was lost or whose process died."""
    for account_id, push_id in push_run.unfinished_pushes():
        run_push.apply_async([account_id, push_id], expires=15)


@shared_task(name="connections.expire_pushes")
def expire_pushes() -> None:
    """Hourly: expire pushes that were open for a day, and remove the files of ended pushes."""
    pushes.expire_pushes()


def _is_of_account(account_id: int, sync_id: int) -> bool:
    with account_scope(Account.objects.get(pk=account_id)):
        return CostSync.objects.filter(pk=sync_id).exists()
