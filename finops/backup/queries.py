"""The time of the last backup, and whether one is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q

from finops.backup.models import BackupRun
from finops.lib import clock

RETRY_AFTER: Final = timedelta(hours=1)
"""Time from the start of a failed run to the next. A longer run holds the lock, so that the next does not begin."""


@dataclass(frozen=True)
class BackupStatus:
    """The newest finished run, and the newest complete one; None where there is none."""

    last: BackupRun | None
    last_done: BackupRun | None
    is_scheduled: bool
    is_late: bool

    @property
    def is_bad(self) -> bool:
        return self.is_late or (self.last is not None and self.last.status != BackupRun.Status.DONE)


def backup_interval() -> timedelta:
    return timedelta(hours=settings.BACKUP_HOURS)


def backup_status() -> BackupStatus:
    """The status over all targets. One query."""
    newest = BackupRun.objects.order_by("-started_at", "-pk")
    over = newest.exclude(status=BackupRun.Status.RUNNING)
    done = newest.filter(status=BackupRun.Status.DONE)
    runs = list(
        BackupRun.objects.filter(Q(pk=over.values("pk")[:1]) | Q(pk=done.values("pk")[:1])).order_by(
            "-started_at", "-pk"
        )
    )
    last = runs[0] if runs else None
    last_done = next((run for run in runs if run.status == BackupRun.Status.DONE), None)
    is_scheduled = bool(settings.BACKUP_TARGET)
    return BackupStatus(last, last_done, is_scheduled, is_scheduled and _is_late(last, last_done))


def _is_late(last: BackupRun | None, last_done: BackupRun | None) -> bool:
    """Whether two intervals have passed. A service without any run is new and not late."""
    since = last_done.started_at if last_done else last.started_at if last else None
    return since is not None and clock.now() - since > backup_interval() + backup_interval()


def is_backup_due(target: str) -> bool:
    """Whether BACKUP_TARGET has had no complete run within the interval, and none at all within RETRY_AFTER. One query."""
    recent = Q(started_at__gt=clock.now() - min(RETRY_AFTER, backup_interval()))
    # A run that failed after its backup was written, in retention, has its id: the backup itself is not due again.
    is_written = Q(status__in=[BackupRun.Status.DONE, BackupRun.Status.INCOMPLETE]) | ~Q(backup_id="")
    in_interval = Q(started_at__gt=clock.now() - backup_interval())
    return not BackupRun.objects.filter(recent | (is_written & in_interval), target=target).exists()
