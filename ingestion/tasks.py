"""Scheduled tasks of ingestion. Each queries the database for what is due."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task

from accounts.models import Account
from finops.lake.tasks import merge_usage
from finops.lake.usage import flush_scheduler
from finops.lake.usage.compaction import compaction_workers, tidy_usage, tidy_workers
from finops.lake.usage.usage_segments import accounts_with_usage
from finops.lib import clock
from ingestion import services
from ingestion.models import UsageUpload
from ingestion.services import event_ids, idempotency, ledger, retention, upload_files
from ingestion.services.uploads import RUN_TASK
from ingestion.services.voiding import VOID_TASK


@shared_task(name="ingestion.prune_rejected")
def prune_rejected_events() -> None:
    """Every five minutes: keep each source's newest rejected events."""
    ledger.prune_rejected_events()


@shared_task(name="ingestion.sweep")
def sweep() -> None:
    """Hourly: delete expired responses, and move old batches of the ledger to the months' sums."""
    idempotency.delete_expired_answers()
    ledger.roll_up()


@shared_task(name="ingestion.expire_event_ids")
def expire_event_ids() -> None:
    """Daily, because it reads the whole table: delete event ids received 35 days ago or earlier."""
    event_ids.expire(clock.today() - timedelta(days=event_ids.DAYS))


@shared_task(name="ingestion.flush_due_usage")
def flush_due_usage() -> None:
    """Every 3 seconds: queue a task for each account with many waiting events, or old ones.

    An account at its full rate so has at most 100,000 events waiting. Cost: see `flushing.due_accounts`.
    """
    for account_id in flush_scheduler.due_accounts():
        flush_usage.apply_async([account_id], expires=15)


@shared_task(name="ingestion.flush_usage")
def flush_usage(account_id: int) -> None:
    """Move an account's waiting events into segments; does nothing if it is not due, or another process flushes it.
    Many segments are merged by another task; if that is lost, the month's next flush and the nightly task queue it
    again."""
    account = Account.objects.get(pk=account_id)
    flushed = flush_scheduler.flush_if_due(account)
    if flushed:
        for _ in range(compaction_workers(account, flushed.months)):
            merge_usage.apply_async([account_id], expires=600)


@shared_task(name="ingestion.tidy_all_usage")
def tidy_all_usage() -> None:
    """Nightly: queue a task for every account with usage, and more where workers can share the work."""
    for account in Account.objects.filter(pk__in=accounts_with_usage()).order_by("pk"):
        for _ in range(max(1, tidy_workers(account))):
            tidy_account.apply_async([account.pk], expires=86_400)


@shared_task(name="ingestion.tidy_usage")
def tidy_account(account_id: int) -> None:
    """Delete usage beyond the account's retention, and merge each month of a source into one segment."""
    account = Account.objects.get(pk=account_id)
    retention.drop_old_usage(account=account)
    tidy_usage(account)


@shared_task(name="ingestion.void_due")
def void_due() -> None:
    """Every minute: queue a task for each account with large batches to void."""
    for account_id in services.accounts_with_requested_voids():
        void_requested_batches.apply_async([account_id], expires=60)


@shared_task(name=VOID_TASK)
def void_requested_batches(account_id: int) -> None:
    """Void the waiting batches of an account."""
    services.void_requested_batches(account=Account.objects.get(pk=account_id))


@shared_task(name=RUN_TASK)
def run_upload(account_id: int, usage_upload_id: int) -> None:
    """Store one upload of an account; does nothing for another account's, an ended one, or one that another process
    runs."""
    # Unscoped: a task names the account itself.
    if UsageUpload.objects.unscoped().filter(pk=usage_upload_id, account_id=account_id).exists():
        services.run_upload(usage_upload_id, in_child=True)


@shared_task(name="ingestion.run_due_uploads")
def run_due_uploads() -> None:
    """Every 15 seconds: queue a task for each upload whose message was lost, or whose process died."""
    for account_id, upload_id in services.due_uploads():
        run_upload.apply_async([account_id, upload_id], expires=15)


@shared_task(name="ingestion.remove_forgotten_uploads")
def remove_forgotten_uploads() -> None:
    """Daily: remove uploaded files that no upload needs."""
    upload_files.remove_orphans()
