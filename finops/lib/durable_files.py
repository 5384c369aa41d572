"""Files and folders that are on disk, names included, before the next step: a lake and a backup survive a loss of power."""

from __future__ import annotations

import os
from pathlib import Path


def fsync(path: Path) -> None:
    """The content of a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(directory: Path, *, mode: int = 0o777) -> None:
    """mkdir -p in which every new name is on disk before the next step."""
    if directory.is_dir():
        return
    make_directories(directory.parent, mode=mode)
    directory.mkdir(exist_ok=True, mode=mode)
    fsync(directory.parent)
