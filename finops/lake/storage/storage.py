"""The storage of segment files: a local directory, or any fsspec URL with a local cache. Paths are relative to LAKE_URL.

A file is written once, whole, under a unique name, and never changed: so readers need no locks, and a crash leaves at most
a file that no manifest row names (`garbage_collection.sweep` removes it).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from finops.lake.storage.file_cache import FileCache
from finops.lib.durable_files import fsync, make_directories
from finops.lib.object_storage import call, open_filesystem

SPOOL = ".spool"
"""The directory of unfinished files."""


@dataclass(frozen=True)
class StoredFile:
    path: str
    modified: datetime


class StorageUnreachable(OSError):
    """The remote storage did not return a file: gone, refused, or no connection."""


class Storage(ABC):
    """The operations that the lake needs of a file storage."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    def new_file(self) -> Path:
        """Return a new local file to write a segment into, before `put`."""
        self._spool.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._spool, suffix=".parquet")
        os.close(descriptor)
        return Path(name)

    @abstractmethod
    def put(self, new_file: Path, path: str) -> None:
        """Move a finished file to `path`, durably: after this returns a power failure does not lose it."""

    @abstractmethod
    def local(self, path: str, checksum: str) -> str:
        """Return the file's local path, for reading now. Raises OSError or DamagedFile when the file is unavailable; a
        missing local file may be noticed only when it is opened."""

    @abstractmethod
    def original(self, path: str) -> AbstractContextManager[Path]:
        """Yield the file as the storage has it now, bypassing the cache: for backups and checks, readable in the block.
        Raises FileNotFoundError when it is gone, StorageUnreachable when the storage does not answer."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file; one that is already gone is no error."""

    @abstractmethod
    def files(self, below: str = "") -> Iterator[StoredFile]:
        """Every file in the lake, or in a directory of it, including unfinished ones."""

    @property
    @abstractmethod
    def readable_directory(self) -> Path:
        """The one directory that contains every path from `local`."""

    @abstractmethod
    def trim(self) -> None:
        """Remove cached files that were not used for long."""


class LocalStorage(Storage):
    def __init__(self, root: Path) -> None:
        super().__init__(root / SPOOL)
        self._root = root

    def put(self, new_file: Path, path: str) -> None:
        target = self._root / path
        fsync(new_file)
        make_directories(target.parent)
        new_file.replace(target)
        fsync(target.parent)

    def local(self, path: str, checksum: str) -> str:
        return f"{self._root}/{path}"

    @contextmanager
    def original(self, path: str) -> Iterator[Path]:
        file = self._root / path
        if not file.is_file():
            raise FileNotFoundError(str(file))
        yield file

    def delete(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)

    def files(self, below: str = "") -> Iterator[StoredFile]:
        for folder, _, names in os.walk(self._root / below):
            for name in names:
                yield from self._stat_file(Path(folder, name))

    def _stat_file(self, file: Path) -> Iterator[StoredFile]:
        try:
            modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        except FileNotFoundError:  # another sweep, or a spooled file that just took its final name
            return
        yield StoredFile(file.relative_to(self._root).as_posix(), modified)

    @property
    def readable_directory(self) -> Path:
        return self._root

    def trim(self) -> None:
        """Do nothing: here the files are the lake."""


class RemoteStorage(Storage):
    def __init__(self, url: str, cache: FileCache) -> None:
        super().__init__(cache.root / SPOOL)
        self._cache = cache
        self._url = url

    def _filesystem(self) -> tuple[Any, str]:
        # Looked up each time: fsspec caches one instance a process, and a forked child must not use its parent's.
        filesystem, root = open_filesystem(self._url)
        return filesystem, root.rstrip("/")

    def put(self, new_file: Path, path: str) -> None:
        filesystem, root = self._filesystem()
        call(filesystem, "put_file", str(new_file), f"{root}/{path}")
        self._cache.keep(new_file, path)

    def local(self, path: str, checksum: str) -> str:
        """Return the path in this machine's cache, after a download if needed. Raises StorageUnreachable when that fails."""

        def download(into: Path) -> None:
            try:
                filesystem, root = self._filesystem()
                call(filesystem, "get_file", f"{root}/{path}", str(into))
            except Exception as error:  # each of fsspec's file systems has its own for «not reachable»
                raise StorageUnreachable(f"{self._url} did not give {path}: {error}") from error

        return str(self._cache.file(path, checksum, download))

    @contextmanager
    def original(self, path: str) -> Iterator[Path]:
        """Yield a download that is removed after the block. Raises FileNotFoundError, or StorageUnreachable."""
        copy = self.new_file()
        try:
            filesystem, root = self._filesystem()
            try:
                call(filesystem, "get_file", f"{root}/{path}", str(copy))
            except FileNotFoundError:
                raise
            except Exception as error:  # each of fsspec's file systems has its own for «not reachable»
                raise StorageUnreachable(f"{self._url} did not give {path}: {error}") from error
            yield copy
        finally:
            copy.unlink(missing_ok=True)

    def delete(self, path: str) -> None:
        filesystem, root = self._filesystem()
        self._cache.forget(path)
        try:
            call(filesystem, "rm_file", f"{root}/{path}")
        except FileNotFoundError:
            return

    def files(self, below: str = "") -> Iterator[StoredFile]:
        filesystem, root = self._filesystem()
        filesystem.invalidate_cache()
        for name in call(filesystem, "find", f"{root}/{below}".rstrip("/")):
            yield StoredFile(name.removeprefix(root).lstrip("/"), filesystem.modified(name))

    @property
    def readable_directory(self) -> Path:
        return self._cache.root

    def trim(self) -> None:
        self._cache.trim()


def storage() -> Storage:
    """The storage that LAKE_URL names."""
    return _storage(settings.LAKE_URL, str(settings.VAR_DIR), settings.LAKE_CACHE_BYTES)


@lru_cache(maxsize=8)
def _storage(url: str, var: str, cache_bytes: int) -> Storage:
    if "://" not in url or url.startswith("file://"):
        return LocalStorage(_plain(Path(url.removeprefix("file://")).absolute()))
    # One cache for each lake: a process may use another bucket later, and paths do not distinguish buckets.
    place = hashlib.sha256(url.encode()).hexdigest()[:16]
    return RemoteStorage(url, FileCache(_plain(Path(var, "cache", place).absolute()), cache_bytes))


def _plain(directory: Path) -> Path:
    if set("*?[]{}\\") & set(str(directory)):
        raise ImproperlyConfigured(
            f"The lake cannot be under {str(directory)!r}: the query engine reads *?[]{{}} and \\ as patterns. "
            "Set LAKE_URL and VAR_DIR to directories without them."
        )
    return directory
