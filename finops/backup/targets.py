"""The storage of backups: a directory, or any fsspec URL such as s3://bucket/prefix."""

from __future__ import annotations

import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from django.conf import settings

from finops.backup.errors import BackupError
from finops.lib.durable_files import fsync, make_directories
from finops.lib.object_storage import open_filesystem
from finops.lib.redaction import without_secrets

UNFINISHED_SECONDS: Final = 24 * 3600.0
"""Age after which an unfinished file is removed: writing one may take hours."""

_UNFINISHED: Final = ".unfinished"


class BackupTarget(ABC):
    """Files by path. A file stored by `put` is complete, or absent."""

    def __init__(self, spool: Path, name: str) -> None:
        self._spool = spool
        self.name = name

    @contextmanager
    def new_file(self) -> Iterator[Path]:
        """Yield a new local file to write into, before `put`; removed after the block."""
        self._spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=self._spool)
        os.close(descriptor)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def clean_spool(self) -> None:
        """Remove the files of killed programs, a day after."""
        oldest = time.time() - UNFINISHED_SECONDS
        for file in self._spool.glob("*"):
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)

    @abstractmethod
    def put(self, file: Path, path: str) -> None:
        """Move a finished file to `path`, durably."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open the file for reading. Raises FileNotFoundError."""

    @abstractmethod
    def sizes(self, below: str) -> dict[str, int]:
        """Return the bytes of every finished file in a folder, by path."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file; one that is already gone is no error."""


class FolderTarget(BackupTarget):
    def __init__(self, root: Path) -> None:
        super().__init__(root / _UNFINISHED, str(root))
        self._root = root

    def put(self, file: Path, path: str) -> None:
        final = self._root / path
        make_directories(final.parent, mode=0o700)
        fsync(file)
        file.replace(final)
        fsync(final.parent)

    def open(self, path: str) -> BinaryIO:
        return (self._root / path).open("rb")

    def sizes(self, below: str) -> dict[str, int]:
        files = (file for file in (self._root / below).rglob("*") if file.is_file())
        return {file.relative_to(self._root).as_posix(): file.stat().st_size for file in files}

    def delete(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)


class RemoteTarget(BackupTarget):
    def __init__(self, url: str) -> None:
        super().__init__(Path(settings.VAR_DIR, "backup-spool"), target_name(url))
        self._filesystem: Any
        self._filesystem, root = open_filesystem(url)
        self._root = root.rstrip("/")

    def put(self, file: Path, path: str) -> None:
        self._filesystem.put_file(str(file), f"{self._root}/{path}")

    def open(self, path: str) -> BinaryIO:
        file: BinaryIO = self._filesystem.open(f"{self._root}/{path}", "rb")
        return file

    def sizes(self, below: str) -> dict[str, int]:
        self._filesystem.invalidate_cache()
        files = self._filesystem.find(f"{self._root}/{below}", detail=True)
        return {name.removeprefix(self._root).lstrip("/"): int(each["size"]) for name, each in files.items()}

    def delete(self, path: str) -> None:
        try:
            self._filesystem.rm_file(f"{self._root}/{path}")
        except FileNotFoundError:
            return


def open_target(place: str) -> BackupTarget:
    """Return the target of this directory or URL. Raises BackupError for an unsupported kind of URL."""
    if _is_folder(place):
        return FolderTarget(Path(target_name(place)))
    try:
        return RemoteTarget(place)
    except (ImportError, ValueError) as error:
        raise BackupError(
            f"Target {target_name(place)!r} cannot be opened: {error}. Use a folder or s3://bucket/prefix."
        ) from error


def target_name(place: str) -> str:
    """The absolute path of the directory, or the URL without a password."""
    return (
        str(Path(place.removeprefix("file://")).absolute()) if _is_folder(place) else without_secrets(place)
    )


def _is_folder(place: str) -> bool:
    return "://" not in place or place.startswith("file://")
