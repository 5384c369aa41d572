"""What the worker does for data exports. Nothing depends on a message: the database says which runs are due."""

from __future__ import annotations

from celery import shared_task

from finops.data_exports.services import runs


@shared_task(name=runs.RUN_TASK)
def run_export(account_id: int, run_id: int) -> None:
    """Do one run of an account; one that is another account's, done, or under way elsewhere is left alone."""
    if (account_id, run_id) in runs.unfinished_runs():
        runs.run_export(run_id)


@shared_task(name="data_exports.run_due")
def run_due() -> None:
    """Every minute: exports whose time has come get a run, and runs that nobody does become a task each."""
    runs.queue_due_runs()
    for account_id, run_id in runs.unfinished_runs():
        run_export.apply_async([account_id, run_id], expires=60)


@shared_task(name="data_exports.sweep")
def sweep() -> None:
    """Daily: runs that ended long ago."""
    runs.remove_old_runs()
