"""Tasks of data exports. A lost message does no harm: the database records which runs are due."""

from __future__ import annotations

from celery import shared_task

from finops.data_exports.services import runs


@shared_task(name=runs.RUN_TASK)
def run_export(account_id: int, run_id: int) -> None:
    """Execute one run of an account; does nothing for another account's run, a finished one, or one that runs elsewhere."""
    if (account_id, run_id) in runs.unfinished_runs():
        runs.run_export(run_id)


@shared_task(name="data_exports.run_due")
def run_due() -> None:
    """Every minute: queue a run for each due export, and a task for each run without a worker."""
    runs.queue_due_runs()
    for account_id, run_id in runs.unfinished_runs():
        run_export.apply_async([account_id, run_id], expires=60)


@shared_task(name="data_exports.sweep")
def sweep() -> None:
    """Daily: delete runs that ended long ago."""
    runs.remove_old_runs()
