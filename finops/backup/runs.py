"""A recorded run: a backup with its retention, scheduled or started by a person."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from django.conf import settings

from finops.backup import services
from finops.backup.encryption import Encryption, encryption_of
from finops.backup.errors import BackupError
from finops.backup.models import BackupRun
from finops.backup.queries import is_backup_due
from finops.backup.retention import remove_older
from finops.backup.services import LOCK, BackupResult
from finops.backup.targets import BackupTarget, open_target, target_name
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.errors import UserError
from finops.lib.redaction import without_secrets

logger = logging.getLogger(__name__)

HISTORY: Final = timedelta(days=400)
"""How many finished runs are kept."""

INTERRUPTED: Final = "The run was interrupted: its process ended. The next run reuses the stored files."


def run_backup(
    *,
    target: str,
    open_backup: Callable[[], tuple[BackupTarget, Encryption]],
    trigger: BackupRun.Trigger,
    keep: int | None,
    progress: Callable[[str], None],
    verify_all: bool = False,
) -> BackupResult:
    """Take a backup and, if it is complete, remove all but the newest `keep`. The run is recorded, however it ends; a
    failed one is logged as an ERROR too. `target` is its name without credentials.

    Raises BackupError when another runs (then nothing is recorded), and as `open_backup` and `create_backup` do.
    """
    with advisory_lock(LOCK) as is_only:
        if not is_only:
            raise BackupError("Another backup is running. Wait for its end.")
        _close_stale_runs()
        run = BackupRun.objects.create(trigger=trigger, target=target)
        try:
            opened, encryption = open_backup()
            result = services.create_backup(
                target=opened, encryption=encryption, progress=progress, verify_all=verify_all
            )
            _record(run, result)
            if keep is not None and not result.record.missing:
                remove_older(target=opened, keep=keep, progress=progress)
        except UserError as error:
            _record_failure(run, error.message)
            logger.error("backup: run %s failed: %s", run.pk, error.message)
            raise
        except Exception as error:
            _record_failure(run, without_secrets(f"{type(error).__name__}: {error}"))
            raise  # the caller logs the traceback
        _finish(run)
    return result


def run_scheduled_backup() -> None:
    """Take a backup into BACKUP_TARGET where one is due. Safe to call twice, at once or later, and after kill -9. Errors
    that a person can correct are recorded in the run and logged; any other error is raised too."""
    target = target_name(settings.BACKUP_TARGET)
    with advisory_lock(LOCK) as is_only:
        if not is_only or not is_backup_due(target):
            return
        with suppress(UserError):
            run_backup(
                target=target,
                open_backup=lambda: (open_target(settings.BACKUP_TARGET), encryption_of(settings.BACKUP_KEY)),
                trigger=BackupRun.Trigger.SCHEDULE,
                keep=settings.BACKUP_KEEP,
                progress=logger.info,
            )


def _close_stale_runs() -> None:
    """Mark unfinished runs as failed: the holder of the lock is the only one that runs."""
    runs = BackupRun.objects.filter(status=BackupRun.Status.RUNNING)
    runs.update(status=BackupRun.Status.FAILED, finished_at=clock.now(), error=INTERRUPTED)
    BackupRun.objects.filter(started_at__lt=clock.now() - HISTORY).delete()


def _record(run: BackupRun, result: BackupResult) -> None:
    run.backup_id = result.record.id
    run.bytes = sum(each.stored_bytes for each in result.record.objects.values())
    run.new_bytes = result.new_bytes
    run.missing_files = len(result.record.missing)


def _finish(run: BackupRun) -> None:
    run.status = BackupRun.Status.INCOMPLETE if run.missing_files else BackupRun.Status.DONE
    if run.missing_files:
        run.error = (
            f"{run.missing_files:,} files of the lake are missing or damaged. Run `manage.py check_lake`."
        )
        logger.error("backup: run %s is incomplete: %s", run.pk, run.error)
    run.finished_at = clock.now()
    run.save()


def _record_failure(run: BackupRun, error: str) -> None:
    run.status, run.error, run.finished_at = BackupRun.Status.FAILED, error, clock.now()
    run.save()
