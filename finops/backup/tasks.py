"""Periodic tasks of backups. Other modules of the package are imported only when a backup is due."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings


@shared_task(name="backup.run_due")
def run_due() -> None:
    """Every ten minutes: queue a task if a backup is due. Does nothing without BACKUP_TARGET."""
    if not settings.BACKUP_TARGET:
        return
    from finops.backup.queries import is_backup_due
    from finops.backup.targets import target_name

    if is_backup_due(target_name(settings.BACKUP_TARGET)):
        run.apply_async(expires=600)


@shared_task(name="backup.run")
def run() -> None:
    """Take a backup if it is still due; does nothing where another one is running."""
    if not settings.BACKUP_TARGET:
        return
    from finops.backup.runs import run_scheduled_backup

    run_scheduled_backup()
