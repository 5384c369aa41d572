"""Folder of each push in the uploads folder: its parts as received, and the files that a worker makes of them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Final

from accounts.models import Account
from finops.connections.models import CostPush
from finops.costs.services.files import pushes
from finops.lib import clock, disk

UNNAMED_RETENTION: Final = timedelta(days=1)
"""Seconds until a folder without a push is removed; its body may still be arriving."""

_WITH_FILES: Final = ("open", "queued", "running")


def folder_of(public_id: uuid.UUID) -> Path:
    return pushes() / public_id.hex


def store(public_id: uuid.UUID, number: int, chunks: Iterable[bytes]) -> Path:
    """Store the body of a part in a file of its own. Raises LowDisk, OSError and the errors of reading the body;
    nothing is left then."""
    folder = folder_of(public_id)
    folder.mkdir(exist_ok=True, mode=0o700)
    path = folder / f"{number}-{uuid.uuid4().hex}"
    try:
        with path.open("xb") as file:
            for chunk in chunks:
                disk.check_disk(len(chunk))
                file.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def remove(public_id: uuid.UUID) -> None:
    shutil.rmtree(folder_of(public_id), ignore_errors=True)


def remove_of_account(account: Account) -> int:
    """Remove the parts of an account that is being deleted; returns the number of pushes with parts."""
    # Unscoped: the account is being deleted by a task.
    public_ids = CostPush.objects.unscoped().filter(account=account).values_list("public_id", flat=True)
    folders = [folder for folder in map(folder_of, public_ids) if folder.exists()]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return len(folders)


def remove_forgotten() -> int:
    """Remove the folders of ended pushes, and after a day those without a push; returns their number."""
    folders = {folder.name: folder for folder in pushes().iterdir()}
    # Unscoped: the sweep serves every account.
    rows = CostPush.objects.unscoped().values_list("public_id", "status")
    status_of = {public_id.hex: status for public_id, status in rows if public_id.hex in folders}
    oldest = (clock.now() - UNNAMED_RETENTION).timestamp()
    count = 0
    for name, folder in folders.items():
        status = status_of.get(name)
        if status in _WITH_FILES or (status is None and folder.stat().st_mtime >= oldest):
            continue
        shutil.rmtree(folder, ignore_errors=True)
        count += 1
    return count
