"""Free space on the disks of this machine: imports, uploads and merges leave a reserve for the database.

A PostgreSQL that cannot write its log stops, and pushes stop with it. When less than LOW_DISK_BYTES is free, work that
needs much space and can wait does wait. A check costs some microseconds a disk.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest

from finops.lib.errors import UserError


class LowDisk(UserError):
    """Too little disk space for imports and merges."""


def free_bytes() -> int:
    """Return the free bytes of the fullest local disk among those of VAR_DIR, the lake and the embedded database."""
    return min(shutil.disk_usage(folder).free for folder in _folders())


def low_disk(needed_bytes: int = 0) -> str:
    """Return whole sentences for people when disk space is too low, or would be with `needed_bytes` more; otherwise an
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
    """Raise LowDisk when disk space is too low."""
    if problem := low_disk(needed_bytes):
        raise LowDisk(problem)


def upload_bytes(request: HttpRequest) -> int:
    """Return the announced size of an upload whose files were not stored for lack of space; 0 if they were stored."""
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
