"""Files of usage uploads, stored under a generated name until they are processed."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from accounts.models import Account
from finops.lib import clock
from ingestion.models import UsageUpload

ORPHAN_GRACE_PERIOD: Final = timedelta(days=1)
"""How long a file without an upload is kept: its request may still be running."""


@dataclass(frozen=True)
class UploadFile:
    name: str
    path: Path
    bytes: int
    digest: str


def store(upload: UploadedFile[Any]) -> UploadFile:
    """Move an uploaded file to the uploads folder. A file that Django streamed to disk is moved, not copied; it is
    read once."""
    path = folder() / uuid.uuid4().hex
    temporary = getattr(upload, "temporary_file_path", None)
    if temporary is not None:
        shutil.move(temporary(), path)
    else:
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = "".join(sign if sign.isprintable() else "?" for sign in Path(upload.name or "upload.csv").name)
    return UploadFile(name[-200:], path, path.stat().st_size, digest)


def remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def remove_of_account(account: Account) -> int:
    """Remove the files of uploads of an account that is being deleted; returns the number of uploads with a file."""
    # Unscoped: the account is being deleted by a task.
    paths = list(UsageUpload.objects.unscoped().filter(account=account).values_list("path", flat=True))
    for path in paths:
        remove(path)
    return len(paths)


def remove_orphans() -> int:
    """Remove files older than a day without an unfinished upload; returns their number."""
    # Unscoped: the queue serves every account.
    unfinished = UsageUpload.objects.unscoped().filter(status__in=["queued", "running"])
    referenced_paths = set(unfinished.values_list("path", flat=True))
    oldest, count = (clock.now() - ORPHAN_GRACE_PERIOD).timestamp(), 0
    for path in folder().iterdir():
        if str(path) not in referenced_paths and path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
            count += 1
    return count


def folder() -> Path:
    # Not below `uploads`, where the clean-up of cost imports deletes files.
    path = Path(settings.VAR_DIR) / "usage-uploads"
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
