"""Periodic tasks of exports."""

from __future__ import annotations

from celery import shared_task

from finops.exports import services


@shared_task(name="exports.run_due")
def run_due_exports() -> None:
    """Every minute: queue a task for each due export, and delete those beyond their account's retention."""
    services.delete_old_exports()
    for account_id, export_id in services.unfinished_exports():
        run_export.apply_async([account_id, export_id], expires=60)


@shared_task(name=services.RUN_TASK)
def run_export(account_id: int, export_id: int) -> None:
    """Write an export; does nothing for one that runs elsewhere or has ended."""
    if (account_id, export_id) in services.unfinished_exports():
        services.run_export(export_id)
