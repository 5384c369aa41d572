"""Periodic tasks of the lake."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.lake.rollups import rollup_scheduler
from finops.lake.storage import garbage_collection
from finops.lake.usage import compaction
from finops.lib import disk


@shared_task(name="lake.sweep")
def sweep() -> None:
    """Hourly: remove files that are no longer current from the storage."""
    garbage_collection.sweep()


@shared_task(name="lake.summarise_due")
def summarise_due() -> None:
    """Every minute: queue tasks for each account with cost that has no rollups yet, as many as can share it."""
    if disk.low_disk():
        return
    for account_id, workers in rollup_scheduler.due_accounts().items():
        for _ in range(workers):
            summarise.apply_async([account_id], expires=600)


@shared_task(name="lake.summarise")
def summarise(account_id: int) -> None:
    """Write the missing rollups of an account's cost; leaves out segments that another worker rolls up."""
    rollup_scheduler.roll_up_account(Account.objects.get(pk=account_id))


@shared_task(name="lake.merge_usage")
def merge_usage(account_id: int) -> None:
    """Merge an account's usage where a flush has left many segments; leaves out those that another worker merges."""
    compaction.merge_usage(Account.objects.get(pk=account_id))
