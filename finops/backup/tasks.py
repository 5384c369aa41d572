"""What beat asks of backups. Nothing else of them is imported until one is due."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings


@shared_task(name="backup.run_due")
def run_due() -> None:
    """Every ten minutes: a task for a backup that is due. Without BACKUP_TARGET nothing."""
    if not settings.BACKUP_TARGET:
        return
    from finops.backup.queries import is_backup_due
    from finops.backup.targets import target_name

    if is_backup_due(target_name(settings.BACKUP_TARGET)):
        run.apply_async(expires=600)


@shared_task(name="backup.run")
def run() -> None:
    """The backup that is due, if it still is; where another is running, that one goes on alone."""
    if not settings.BACKUP_TARGET:
        return
    from finops.backup.runs import run_scheduled_backup

    run_scheduled_backup()
