"""What beat asks of the lake."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.lake.rollups import rollup_scheduler
from finops.lake.storage import garbage_collection
from finops.lake.usage import compaction
from finops.lib import disk


@shared_task(name="lake.sweep")
def sweep() -> None:
    """Hourly: files that count no more leave the storage."""
    garbage_collection.sweep()


@shared_task(name="lake.summarise_due")
def summarise_due() -> None:
    """Every minute: accounts with cost that has no rollups yet become a task each, where there is room for them."""
    if disk.low_disk():
        return
    for account_id in rollup_scheduler.due_accounts():
        summarise.apply_async([account_id], expires=600)


@shared_task(name="lake.summarise")
def summarise(account_id: int) -> None:
    """Make the rollups of an account's cost that it lacks; where another worker is at it, that one goes on alone."""
    rollup_scheduler.roll_up_account(Account.objects.get(pk=account_id))


@shared_task(name="lake.merge_usage")
def merge_usage(account_id: int) -> None:
    """Merge an account's usage where a flush has left many segments; where another worker is at it, that one goes on alone."""
    compaction.merge_usage(Account.objects.get(pk=account_id))
