"""Taking a backup: database and lake at one moment, only new content, verified by reading back, its record last."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from django.conf import settings

from finops.backup import records
from finops.backup.database_dump import DatabaseSnapshot, LiveFile, part_text, snapshot
from finops.backup.encryption import Encryption
from finops.backup.errors import BackupError, DamagedObject
from finops.backup.fingerprints import current_fingerprints
from finops.backup.objects import ObjectStore
from finops.backup.records import BackupRecord, LakeFile
from finops.backup.targets import BackupTarget
from finops.backup.uploads import HeldUploads, held_uploads
from finops.lake.storage.locks import holding_files
from finops.lake.storage.storage import storage
from finops.lib.advisory_lock import advisory_lock

BACKUPS: Final = "backups"
RECORD: Final = "backup.json"
LOCK: Final = "backup"
"""The id of an advisory lock: one backup at a time."""

WAIT_SECONDS: Final = 600.0
"""Seconds to wait for a running sweep of the lake."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class BackupResult:
    """A finished backup; `new_files` and `new_bytes` are what it added to the target."""

    record: BackupRecord
    new_files: int
    new_bytes: int


def create_backup(
    *, target: BackupTarget, encryption: Encryption, progress: Progress, verify_all: bool = False
) -> BackupResult:
    """Write a backup and verify what it added, and with `verify_all` also the content that it needs from earlier ones;
    damaged content is stored again.

    Files of the lake are not removed meanwhile. An interrupted backup leaves content without a record, which the next one
    uses. Raises BackupError when another backup runs or the sweep does not end, DamagedObject when what was written
    differs.
    """
    with advisory_lock(LOCK) as is_only, holding_files(WAIT_SECONDS if is_only else 0) as is_held:
        if not is_only:
            raise BackupError("Another backup is running. Wait for its end.")
        if not is_held:
            raise BackupError(
                "Files of the lake are being removed for more than 10 minutes. Try again later."
            )
        target.clean_spool()
        store = ObjectStore(target, encryption, verify_all=verify_all)
        store.load_index()
        record = _store_content(store, progress)
        for path in store.damaged:
            progress(f"Damaged in the target, and stored again: {path}")
        _verify_new(store, record, progress)
        _write_record(target, record)
    return BackupResult(record, store.new_files, store.new_bytes)


def _store_content(store: ObjectStore, progress: Progress) -> BackupRecord:
    with held_uploads() as uploads:
        uploads.add_waiting()
        with snapshot() as now:
            uploads.add_waiting()
            progress(f"Moment of the backup: {now.taken_at:%Y-%m-%d %H:%M:%S} UTC")
            files = now.live_files()
            record = _record_of(now, store, uploads, progress)
        lake = _store_lake(store, files, progress)
    return msgspec.structs.replace(record, lake=lake)


def _record_of(
    now: DatabaseSnapshot, store: ObjectStore, uploads: HeldUploads, progress: Progress
) -> BackupRecord:
    return BackupRecord(
        id=f"{now.taken_at:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(3)}",
        taken_at=now.taken_at,
        postgresql=now.postgresql,
        migrations=now.migrations(),
        keys=current_fingerprints(),
        recipient=store.encryption.recipient,
        var_dir=str(settings.VAR_DIR),
        tables=now.dump_tables(store, progress),
        sequences=now.sequences(),
        lake=[],
        uploads=uploads.store(store),
    )


def _store_lake(store: ObjectStore, files: Sequence[LiveFile], progress: Progress) -> list[LakeFile]:
    stored_files = []
    for number, file in enumerate(files, 1):
        stored_files.append(_store_file(store, file, progress))
        if number % 500 == 0 or number == len(files):
            progress(f"Lake: {number:,} of {len(files):,} files, {store.new_bytes:,} new bytes")
    return stored_files


def _store_file(store: ObjectStore, file: LiveFile, progress: Progress) -> LakeFile:
    """Store a file of the lake. A lost or damaged file must not make every backup fail: it is left out, and reported."""
    stored = store.find(file.sha256, file.bytes)
    if stored is None:
        try:
            with storage().original(file.path) as path, path.open("rb") as content:
                stored = store.put(content, file.bytes, file.sha256)
        except (FileNotFoundError, DamagedObject) as error:
            progress(f"Not in the backup: {file.path} ({error})")
    return LakeFile(file.account_id, file.kind, file.path, file.rows, file.sha256, stored)


def _verify_new(store: ObjectStore, record: BackupRecord, progress: Progress) -> None:
    """Verify what this run stored: digests, and rows of tables where the key decrypts them. Raises DamagedObject for the
    first that differs."""
    objects = [each for each in record.objects.values() if store.is_new(each)]
    for number, stored in enumerate(objects, 1):
        try:
            store.verify(stored)
        except DamagedObject:
            store.target.delete(stored.path)  # the next backup would take it as stored
            raise
        if number % 500 == 0 or number == len(objects):
            progress(f"Verified: {number:,} of {len(objects):,} new files")
    if not store.encryption.can_read:
        return
    for table in record.tables:
        for part in (part for part in table.parts if store.is_new(part.object)):
            if part_text(store, part).count(b"\n") != part.rows:
                raise DamagedObject(
                    f"A part of table {table.name} has another number of rows than were read."
                )


def _write_record(target: BackupTarget, record: BackupRecord) -> None:
    text = records.encode(record)
    path = f"{BACKUPS}/{record.id}/{RECORD}"
    with target.new_file() as file:
        file.write_bytes(text)
        target.put(file, path)
    with target.open(path) as stored:
        if stored.read() != text:
            raise DamagedObject(f"{path} differs from the written file.")


def backup_ids(target: BackupTarget) -> list[str]:
    """The finished backups of a target, oldest first."""
    paths = target.sizes(BACKUPS)
    return sorted(path.split("/")[1] for path in paths if path.endswith(f"/{RECORD}"))


def read_record(target: BackupTarget, backup_id: str = "") -> BackupRecord:
    """Return a backup's record, by default that of the newest. Raises BackupError when there is none, DamagedObject."""
    ids = backup_ids(target)
    if not ids:
        raise BackupError(f"{target.name} has no finished backup.")
    if backup_id and backup_id not in ids:
        raise BackupError(f"{target.name} has no backup {backup_id}. It has: {', '.join(ids[-5:])}.")
    with target.open(f"{BACKUPS}/{backup_id or ids[-1]}/{RECORD}") as file:
        return records.decode(file.read())


def sums(record: BackupRecord) -> dict[str, int]:
    """Return the rows of the lake by kind, and of the database."""
    rows: Counter[str] = Counter()
    for file in record.lake:
        rows[file.kind] += file.rows
    return {"database": sum(table.rows for table in record.tables), **rows}
