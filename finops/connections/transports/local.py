"""A folder of this server, read and written as a bucket. Only beneath CONNECTION_FOLDERS, which an operator sets; no link leads out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from django.conf import settings

from finops.connections.connector import AccessError, MonthConflict, SourceError
from finops.connections.transports.bucket import CHUNK_BYTES, BucketObject, StorageBucket, safe_key


def open_folder(folder: str) -> LocalBucket:
    """Raises AccessError for a folder outside of CONNECTION_FOLDERS and the sample data, SourceError for one that is not
    there."""
    path, sample = Path(folder), sample_folder()
    if not settings.CONNECTION_FOLDERS and not path.is_relative_to(sample):
        raise AccessError(
            "No folders are allowed on this server. Ask the operator to set CONNECTION_FOLDERS.",
            field="folder",
        )
    return open_folder_in(folder, [str(sample), *settings.CONNECTION_FOLDERS], "CONNECTION_FOLDERS")


def open_folder_in(folder: str, roots: Iterable[str], setting: str) -> LocalBucket:
    """Raises AccessError for a folder outside of the roots, which names the setting that has them, SourceError for one that is
    not there."""
    path = Path(folder)
    if not path.is_absolute() or not any(
        path.resolve().is_relative_to(Path(root).resolve()) for root in roots
    ):
        raise AccessError(
            f"{folder} is not in an allowed folder. Ask the operator to add it to {setting}.",
            field="folder",
        )
    if not path.is_dir():
        raise SourceError(f"Folder {folder} does not exist on this server.", field="folder", value=folder)
    return LocalBucket(path.resolve())


def sample_folder() -> Path:
    """Where bills of the made-up company are written, for every account: nothing else is in it."""
    return Path(settings.VAR_DIR).absolute() / "sample-bills"


class LocalBucket(StorageBucket):
    """A folder; its name is its path. A version is the time of the last change, the size and the inode."""

    def __init__(self, root: Path) -> None:
        super().__init__(fsspec.filesystem("file"), str(root), "", scheme="file")
        self._root = root

    def _version(self, info: dict[str, Any]) -> str:
        return f"{info['mtime']}-{info['size']}-{info['ino']}"

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        """A folder at a time. Links to folders are not followed, nor links to files outside of the folder."""
        start = self._root / prefix.rpartition("/")[0]
        if start != self._root and not start.is_dir():
            return
        for folder, _, names in os.walk(start, onerror=_raise):
            paths = [
                Path(folder, name)
                for name in names
                if f"{folder}/{name}".startswith(f"{self._root}/{prefix}")
            ]
            yield [self._object(self._filesystem.info(str(path))) for path in paths if self._is_inside(path)]

    def path_of(self, item: BucketObject) -> Path:
        """Where it lies. Raises MonthConflict for one that is gone, or leads out of the folder by now."""
        path = self._root / safe_key(item.key)
        if not self._is_inside(path):
            raise MonthConflict(f"{path} was deleted during the sync.")
        return path

    def _is_inside(self, path: Path) -> bool:
        return path.is_file() and path.resolve().is_relative_to(self._root)

    def _write(self, key: str, file: Path) -> None:
        """Under another name first, so that a reader sees all of it or nothing."""
        target = self._inner(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        try:
            with partial.open("wb") as copy, file.open("rb") as content:
                shutil.copyfileobj(content, copy, CHUNK_BYTES)
                copy.flush()
                os.fsync(copy.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    def _remove(self, key: str) -> None:
        self._inner(key).unlink(missing_ok=True)

    def _inner(self, key: str) -> Path:
        """Raises AccessError for a path that a link leads out of the folder by."""
        path = self._root / key
        if not path.parent.resolve().is_relative_to(self._root):
            raise AccessError(f"{self._shown(key)} is a link out of the folder.")
        return path

    @contextmanager
    def _open(self, item: BucketObject) -> Iterator[Iterator[bytes]]:
        """The opened file itself is compared, since what a path names may change between two looks at it."""
        path = self.path_of(item)
        with path.open("rb") as file:
            self._compare_file(item, file.fileno(), path)
            yield iter(lambda: file.read(CHUNK_BYTES), b"")
            self._compare_file(item, file.fileno(), path)

    def _compare_file(self, item: BucketObject, descriptor: int, path: Path) -> None:
        status = os.fstat(descriptor)
        info = {"mtime": status.st_mtime, "size": status.st_size, "ino": status.st_ino}
        if self._version(info) != item.version or not self._is_inside(path):
            raise MonthConflict(f"{path} was replaced after it was listed.")

    def _explain(self, error: Exception, action: str, key: str) -> SourceError:
        if isinstance(error, PermissionError):
            return AccessError(
                f"The server may not {action} {self._shown(key)}. Ask the operator for access."
            )
        done = {"write": "written", "delete": "deleted"}.get(action, "read")
        return SourceError(f"{self._shown(key)} cannot be {done}: {type(error).__name__}.")


def _raise(error: OSError) -> None:
    raise error
