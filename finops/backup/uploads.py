"""Files on this machine that pending imports, pushes and uploads need. They are removed with their job, so a backup
hard-links them first."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from django.conf import settings

from finops.backup.objects import ObjectStore
from finops.backup.records import BackupRecord, WaitingUpload
from finops.costs.models import CostImport
from ingestion.models import UsageUpload

FOLDERS: Final = (
    "uploads/imports-waiting",
    "uploads/cost-pushes",
    "uploads/mapping-samples",
    "usage-uploads",
)
"""Folders below VAR_DIR."""

_UNFINISHED: Final = ("queued", "running", "waiting")


class HeldUploads:
    """Hard links to the files that were pending during a backup."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add_waiting(self) -> None:
        """Link the pending files. Called before and after the snapshot: no job of the snapshot needs a file that both calls
        miss."""
        var = Path(settings.VAR_DIR)
        for file in (file for name in FOLDERS for file in (var / name).rglob("*") if file.is_file()):
            link = self._folder / file.relative_to(var)
            link.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError, FileNotFoundError):
                os.link(file, link)

    def store(self, store: ObjectStore) -> list[WaitingUpload]:
        """Store the content of the files."""
        records = []
        for file in sorted(file for file in self._folder.rglob("*") if file.is_file()):
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
                content.seek(0)
                stored = store.put(content, file.stat().st_size, digest)
            records.append(WaitingUpload(file.relative_to(self._folder).as_posix(), stored))
        return records


@contextmanager
def held_uploads() -> Iterator[HeldUploads]:
    """Yield the links, which are removed after the block."""
    folder = Path(tempfile.mkdtemp(prefix="backup-uploads-", dir=settings.VAR_DIR))
    try:
        yield HeldUploads(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def restore_uploads(store: ObjectStore, record: BackupRecord) -> None:
    """Put the files where their jobs expect them, below this server's VAR_DIR. Raises DamagedObject."""
    for upload in record.uploads:
        file = Path(settings.VAR_DIR, upload.path)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        store.read_into(upload.object, file)
    if record.var_dir != str(settings.VAR_DIR):
        _move_jobs(record.var_dir)


def _move_jobs(var_dir: str) -> None:
    """Jobs name their files whole. Unscoped: a restore is of every account."""
    for job in CostImport.objects.unscoped().filter(status__in=_UNFINISHED):
        job.files = [{**file, "path": _relocate(file["path"], var_dir)} for file in job.files]
        job.save(update_fields=["files"])
    for upload in UsageUpload.objects.unscoped().filter(status__in=_UNFINISHED):
        upload.path = _relocate(upload.path, var_dir)
        upload.save(update_fields=["path"])


def _relocate(path: str, var_dir: str) -> str:
    below = f"{var_dir}/"
    return str(Path(settings.VAR_DIR, path.removeprefix(below))) if path.startswith(below) else path
