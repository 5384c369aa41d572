"""Durable writes: files and directories are on disk, names included, before the next step, so that a lake and a backup
survive a power loss."""

from __future__ import annotations

import os
from pathlib import Path


def fsync(path: Path) -> None:
    """Flush the content of a file, or the names in a directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directories(directory: Path, *, mode: int = 0o777) -> None:
    """Create directories like `mkdir -p`; every new name is on disk before the next step."""
    if directory.is_dir():
        return
    make_directories(directory.parent, mode=mode)
    directory.mkdir(exist_ok=True, mode=mode)
    fsync(directory.parent)
