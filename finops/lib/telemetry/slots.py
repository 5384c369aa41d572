"""Files of metrics by slot and not by process: a process takes the lowest free slot, and continues its counts.

So there are as many files as processes at a time, however often they restart, and a counter never falls when a process
ends. Disk space is allocated with the slot: a file mapped into memory ends its process where the disk is full.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

FILE_BYTES: Final = 2**20
"""Bytes of each kind of metric, about 5,000 series."""
LIVE: Final = "gauge_livesum"
KINDS: Final = ("counter", "histogram", "summary", LIVE)

_forks = 0


def forks() -> int:
    """How many forks lead from the first process of this program to this one."""
    return _forks


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class Slots:
    """The slots of a directory. prometheus_client names the files of this process by `identifier`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._forks, self._number, self._lock = -1, 0, -1

    def identifier(self) -> int:
        """Return the slot of this process. A forked child takes its own. Raises OSError for a disk that is full."""
        if self._forks != _forks:
            if self._lock >= 0:
                os.close(self._lock)  # inherited; the parent process still holds it
            self._number, self._lock = _take(self._directory)
            self._forks = _forks
        return self._number

    def release(self) -> None:
        os.close(self._lock)
        self._forks, self._lock = -1, -1


def _take(directory: Path) -> tuple[int, int]:
    number = 0
    while (lock := _lock(directory / f"slot_{number}.lock")) is None:
        number += 1
    for kind in KINDS:
        file = directory / f"{kind}_{number}.db"
        if kind == LIVE or not _is_allocated(file):
            _allocate(file)
    return number, lock


def _is_allocated(file: Path) -> bool:
    try:
        return file.stat().st_size >= FILE_BYTES
    except FileNotFoundError:
        return False


def _allocate(file: Path) -> None:
    """Replace the file by an empty one with its space. A scrape reads every file of its name at any moment, and fails for
    one without bytes."""
    new_file = file.with_suffix(".new")
    descriptor = os.open(new_file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, FILE_BYTES)
    finally:
        os.close(descriptor)
    new_file.rename(file)


def remove_stale_gauges(directory: Path) -> None:
    """Remove gauges of processes that have ended. Their counts stay."""
    for file in directory.glob("slot_*.lock"):
        lock = _lock(file)
        if lock is not None:
            (directory / f"{LIVE}_{file.stem.removeprefix('slot_')}.db").unlink(missing_ok=True)
            os.close(lock)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Exclude other processes that lock the same path while the block runs."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove_stale_files(folder: Path) -> None:
    """Remove the files of slots, and the directory if nothing else is in it, unless a process has one of its slots."""
    locks = [_lock(file) for file in folder.glob("slot_*.lock")]
    if None not in locks:
        for pattern in ("slot_*.lock", *(f"{kind}_*.{suffix}" for kind in KINDS for suffix in ("db", "new"))):
            for file in folder.glob(pattern):
                file.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
    for lock in locks:
        if lock is not None:
            os.close(lock)


def _lock(file: Path) -> int | None:
    """Return the descriptor that holds the lock, None where another process holds it. The lock ends with the process,
    however that ends."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
