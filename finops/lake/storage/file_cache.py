"""Local copies of remote segment files: one download a file, checksum verified, limited in size, safe across processes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from finops.lib import time_limit

LOCK_FILES: Final = 64
"""The number of lock files. Downloads that share one wait for each other; lock files are never removed, which avoids races."""

LOCK_SECONDS: Final = 0.01
"""Seconds between attempts to lock a file: flock(2) has no time limit."""

IN_USE_SECONDS: Final = 60.0
"""A file used this recently may be in a running query (20 s at most): it is kept even when the cap is exceeded."""

UNUSED_SECONDS: Final = 7 * 24 * 3600.0
"""Files that were not read for a week are removed by the daily sweep, so that deleted data does not stay for ever."""


class DamagedFile(Exception):
    """A stored segment whose checksum differs from the manifest's."""


class FileCache:
    """Files below `root`, at most `cap` bytes; the least recently used are removed first."""

    def __init__(self, root: Path, cap: int) -> None:
        self.root = root
        self._files = root / "files"
        self._locks = root / "locks"
        self._cap = cap

    def file(self, path: str, checksum: str, download: Callable[[Path], None]) -> Path:
        """Return the local copy of `path`, downloaded at most once for concurrent threads and processes.

        Raises what `download` raises, DamagedFile when the bytes do not have `checksum` (SHA-256, hex), and TimeoutError.
        """
        file = self._files / path
        if self._touch(file):
            return file
        with self._lock(path):
            if not self._touch(file):
                self._fetch(file, checksum, download)
        self._evict(self._cap, keep_used_since=time.time() - IN_USE_SECONDS)
        return file

    def keep(self, new_file: Path, path: str) -> None:
        """Store a new file as the copy of `path`: the machine that wrote it often reads it next."""
        file = self._files / path
        file.parent.mkdir(parents=True, exist_ok=True)
        new_file.replace(file)
        self._evict(self._cap, keep_used_since=time.time() - IN_USE_SECONDS)

    def forget(self, path: str) -> None:
        (self._files / path).unlink(missing_ok=True)

    def trim(self) -> None:
        """Remove files unused for a week, and unfinished ones of that age (their process died)."""
        oldest = time.time() - UNUSED_SECONDS
        self._evict(0, keep_used_since=oldest)
        for folder in self.root.glob(".*"):
            for used, _, file in _files_with_use(folder):
                if used < oldest:
                    file.unlink(missing_ok=True)

    def _fetch(self, file: Path, checksum: str, download: Callable[[Path], None]) -> None:
        unfinished = self.root / ".download"
        unfinished.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=unfinished)
        os.close(descriptor)
        try:
            download(Path(name))
            _verify(Path(name), checksum, file)
            file.parent.mkdir(parents=True, exist_ok=True)
            Path(name).replace(file)
        finally:
            Path(name).unlink(missing_ok=True)

    def _evict(self, cap: int, *, keep_used_since: float) -> None:
        with self._lock("evict"):
            files = sorted(_files_with_use(self._files))
            total = sum(size for _, size, _ in files)
            for used, size, file in files:
                if total <= cap or used >= keep_used_since:
                    return
                file.unlink(missing_ok=True)
                total -= size

    @staticmethod
    def _touch(file: Path) -> bool:
        """Return whether the file exists, and mark it as used now (set explicitly: most disks are mounted noatime)."""
        try:
            os.utime(file)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        self._locks.mkdir(parents=True, exist_ok=True)
        slot = "evict" if name == "evict" else str(zlib.crc32(name.encode()) % LOCK_FILES)
        # A lock belongs to the open file: threads of one process exclude each other too, and a kill releases it.
        with (self._locks / slot).open("w") as handle:
            _wait_for_lock(handle, name)
            yield


def _wait_for_lock(handle: IO[str], name: str) -> None:
    """Lock a file exclusively. Raises TimeoutError at the end of the thread's time limit: another thread or process may wait
    for a storage that does not respond."""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= time_limit.end():
                raise TimeoutError(f"another download took too long: {name}") from None
            time.sleep(LOCK_SECONDS)
        else:
            return


def _verify(download: Path, checksum: str, file: Path) -> None:
    with download.open("rb") as handle:
        actual = hashlib.file_digest(handle, "sha256").hexdigest()
    if actual != checksum:
        raise DamagedFile(f"Segment {file.name} has checksum {actual}, and the manifest says {checksum}.")


def _files_with_use(folder: Path) -> Iterator[tuple[float, int, Path]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            file = Path(parent, name)
            with suppress(FileNotFoundError):
                info = file.stat()
                yield info.st_mtime, info.st_size, file
