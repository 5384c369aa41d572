"""What beat asks of exports."""

from __future__ import annotations

from celery import shared_task

from finops.exports import services


@shared_task(name="exports.run_due")
def run_due_exports() -> None:
    """Every minute: exports that are due become a task each; those of a week ago go."""
    services.delete_old_exports()
    for account_id, export_id in services.unfinished_exports():
        run_export.apply_async([account_id, export_id], expires=60)


@shared_task(name=services.RUN_TASK)
def run_export(account_id: int, export_id: int) -> None:
    """Write an export; one that runs elsewhere, or has ended, is left alone."""
    if (account_id, export_id) in services.unfinished_exports():
        services.run_export(export_id)
