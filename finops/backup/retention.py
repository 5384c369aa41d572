"""Retention of a target's backups: older records are removed, and then content that no record names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from finops.backup.errors import BackupError
from finops.backup.objects import OBJECTS
from finops.backup.services import BACKUPS, LOCK, RECORD, backup_ids, read_record
from finops.backup.targets import BackupTarget
from finops.lib.advisory_lock import advisory_lock


@dataclass(frozen=True)
class RetentionResult:
    """What was removed."""

    backups: int
    files: int
    bytes: int


def remove_older(*, target: BackupTarget, keep: int, progress: Callable[[str], None]) -> RetentionResult:
    """Keep the newest `keep` backups (1 or more), with all that they need. After an interruption, the next run continues.

    Raises BackupError while a backup runs, DamagedObject before anything is removed where the record of a backup that stays
    cannot be read.
    """
    with advisory_lock(LOCK) as is_only:
        if not is_only:
            raise BackupError("Another backup is running. Wait for its end.")
        ids = backup_ids(target)
        needed = {path for each in ids[-keep:] for path in read_record(target, each).objects}
        for backup_id in ids[:-keep]:
            target.delete(f"{BACKUPS}/{backup_id}/{RECORD}")
        unneeded = {path: size for path, size in target.sizes(OBJECTS).items() if path not in needed}
        for path in unneeded:
            target.delete(path)
        result = RetentionResult(len(ids[:-keep]), len(unneeded), sum(unneeded.values()))
    progress(f"Removed {result.backups:,} older backups: {result.files:,} files, {result.bytes:,} bytes.")
    return result
