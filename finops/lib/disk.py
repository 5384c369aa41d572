"""Room on the disks of this machine: imports, uploads and merges leave a reserve, which the database goes on with.

PostgreSQL that cannot write its log stops, and pushes with it. Beneath LOW_DISK_BYTES of room, what takes much and can
wait waits: a look costs some microseconds a disk.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest

from finops.lib.errors import UserError


class LowDisk(UserError):
    """There is no room for imports and merges."""


def free_bytes() -> int:
    """Of the fullest disk among those of VAR_DIR, the lake and the embedded database, where they are of this machine."""
    return min(shutil.disk_usage(folder).free for folder in _folders())


def low_disk(needed_bytes: int = 0) -> str:
    """What to tell people, in whole sentences, when there is too little room, or would be with `coming` bytes more; or an
    empty string."""
    free = free_bytes()
    if free - needed_bytes >= settings.LOW_DISK_BYTES:
        return ""
    too_large = f", and this needs {_gb(needed_bytes)}" if free >= settings.LOW_DISK_BYTES else ""
    return (
        f"This server has {_gb(free)} of disk space left{too_large}. Imports, uploads and merges are "
        f"paused below {_gb(settings.LOW_DISK_BYTES)}; pushes are accepted. They resume when the "
        "operator frees space."
    )


def check_disk(needed_bytes: int = 0) -> None:
    """Raises LowDisk."""
    if problem := low_disk(needed_bytes):
        raise LowDisk(problem)


def upload_bytes(request: HttpRequest) -> int:
    """What came with this request, or was to come: the files of an upload that there is no room for are not kept."""
    return int(request.META.get("CONTENT_LENGTH") or 0) if not request.FILES else 0


def _folders() -> list[Path]:
    folders: list[Path] = [settings.VAR_DIR]
    if "://" not in settings.LAKE_URL:
        folders.append(Path(settings.LAKE_URL))
    if settings.EMBEDDED_DATABASE:
        folders.append(settings.VAR_DIR / "postgres")
    return [folder for folder in folders if folder.exists()]


def _gb(count: int) -> str:
    return f"{count / 10**9:,.1f} GB"
