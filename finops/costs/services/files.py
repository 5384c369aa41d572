"""Files on their way in: uploads that wait for their import, and the folders that imports work in."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from accounts.models import Account
from finops.costs.focus.errors import printable
from finops.costs.models import CostImport
from finops.costs.services import claims
from finops.lib import clock
from finops.lib.errors import UserError

UPLOAD_RETENTION: Final = timedelta(days=1)
"""An upload without an import is of a request that died; it may still be arriving."""


def store_upload(upload: UploadedFile[Any]) -> dict[str, Any]:
    """An upload under a name of ours. One that Django streamed to disk is moved, not copied."""
    path = uploads() / uuid.uuid4().hex
    temporary = getattr(upload, "temporary_file_path", None)
    if temporary is not None:
        shutil.move(temporary(), path)
    else:
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    name = printable(Path(upload.name or "upload").name)
    return {"name": name[:200], "path": str(path), "bytes": path.stat().st_size, "remove": True}


def local_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"There is no file {path}.", field="files", value=str(path))
    whole = path.absolute()
    return {
        "name": printable(whole.name)[:200],
        "path": str(whole),
        "bytes": whole.stat().st_size,
        "remove": False,
    }


def remove(files: Sequence[Mapping[str, Any]]) -> None:
    for file in files:
        if file["remove"]:
            Path(file["path"]).unlink(missing_ok=True)


def remove_of_account(account: Account) -> int:
    """Remove the files that imports of an account that is being deleted wait with: how many."""
    # Unscoped: the account is being deleted by a task.
    file_lists = list(CostImport.objects.unscoped().filter(account=account).values_list("files", flat=True))
    for files in file_lists:
        remove(files)
    return sum(len(files) for files in file_lists)


def uploads() -> Path:
    return _folder("imports-waiting")


def work() -> Path:
    return _folder("imports-running")


def _folder(name: str) -> Path:
    folder = Path(settings.VAR_DIR) / "uploads" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def remove_forgotten_uploads() -> int:
    """Remove uploads older than a day that no import will read any more; how many went."""
    needed_paths = {
        file["path"]
        for job in (*claims.unfinished_imports(), *claims.waiting_imports())
        for file in job.files
    }
    oldest = (clock.now() - UPLOAD_RETENTION).timestamp()
    count = 0
    kept_paths = {str(uploads()), str(work()), *needed_paths}
    for path in (path for folder in (uploads(), work(), uploads().parent) for path in folder.iterdir()):
        if str(path) not in kept_paths and path.stat().st_mtime < oldest:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            count += 1
    return count
