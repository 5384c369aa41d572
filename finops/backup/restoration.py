"""Restoring a backup: all checks first, then files of the lake, the database, uploads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from finops.backup.database_load import check_alone, check_empty, check_migrations, load_database
from finops.backup.encryption import Encryption
from finops.backup.errors import BackupError, DamagedObject
from finops.backup.fingerprints import differing_keys
from finops.backup.objects import ObjectStore
from finops.backup.records import BackupRecord, LakeFile
from finops.backup.services import read_record
from finops.backup.targets import BackupTarget
from finops.backup.uploads import restore_uploads
from finops.lake.storage.segments import sha256
from finops.lake.storage.storage import storage

Progress = Callable[[str], None]

_KEYS_ADVICE: Final = (
    "Secrets that are sealed (targets of alerts, credentials of connections, second factors) and keys of customers would not "
    "work. Set the keys of the server that wrote the backup, or add --other-keys to restore without them."
)


@dataclass(frozen=True)
class RestoreResult:
    """What was restored, and the files of the lake that the backup does not have, or has damaged."""

    record: BackupRecord
    missing: list[LakeFile]


def restore_backup(
    *,
    target: BackupTarget,
    encryption: Encryption,
    progress: Progress,
    backup_id: str = "",
    replace: bool = False,
    other_keys: bool = False,
) -> RestoreResult:
    """Restore the newest backup, or that of `backup_id`, into an empty database and the lake of LAKE_URL.

    Nothing is changed before versions, keys and database are checked. The database is restored after the files, so an
    interruption leaves no facts without files. Raises BackupError, DamagedObject for a damaged table or upload.
    """
    record = read_record(target, backup_id)
    _check(record, encryption, replace=replace, other_keys=other_keys)
    progress(f"Backup {record.id} of {record.taken_at:%Y-%m-%d %H:%M:%S} UTC")
    store = ObjectStore(target, encryption)
    missing = _restore_lake(store, record, progress)
    load_database(store, record, progress)
    restore_uploads(store, record)
    return RestoreResult(record, missing)


def check_key(record: BackupRecord, encryption: Encryption) -> None:
    """Raise BackupError for a key that does not decrypt this backup."""
    if record.recipient != encryption.recipient:
        backup = f"encrypted to {record.recipient}" if record.recipient else "not encrypted"
        key = f"is that of {encryption.recipient}" if encryption.recipient else "is not set"
        raise BackupError(f"The backup is {backup}, and BACKUP_KEY {key}. Set the key that belongs to it.")
    if not encryption.can_read:
        raise BackupError(
            "The backup key is a public one. Set BACKUP_KEY to its AGE-SECRET-KEY-1… to restore."
        )


def _check(record: BackupRecord, encryption: Encryption, *, replace: bool, other_keys: bool) -> None:
    check_key(record, encryption)
    check_migrations(record)
    differing = differing_keys(record.keys)
    if differing and not other_keys:
        raise BackupError(
            f"This server has another {' and '.join(differing)} than the backup. {_KEYS_ADVICE}"
        )
    check_empty(record, replace=replace)
    check_alone()


def _restore_lake(store: ObjectStore, record: BackupRecord, progress: Progress) -> list[LakeFile]:
    missing = []
    for number, file in enumerate(record.lake, 1):
        if not has_file(file) and not restore_file(store, file, progress):
            missing.append(file)
        if number % 500 == 0 or number == len(record.lake):
            progress(f"Lake: {number:,} of {len(record.lake):,} files")
    return missing


def has_file(file: LakeFile) -> bool:
    """Whether the lake has this file already, with this content: so an interrupted restore continues."""
    try:
        with storage().original(file.path) as path:
            return sha256(path) == file.sha256
    except FileNotFoundError:
        return False


def restore_file(store: ObjectStore, file: LakeFile, progress: Progress) -> bool:
    """Copy a file from the backup into the lake; return False where the backup cannot."""
    if file.object is None:
        return False
    new = storage().new_file()
    try:
        store.read_into(file.object, new)
        storage().put(new, file.path)
    except DamagedObject as error:
        progress(error.message)
        return False
    finally:
        new.unlink(missing_ok=True)
    return True
