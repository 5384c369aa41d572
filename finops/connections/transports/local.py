"""A folder of this server, read as a bucket. Only beneath CONNECTION_FOLDERS, which an operator sets; no link leads out."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
    roots = [sample.resolve(), *(Path(each).resolve() for each in settings.CONNECTION_FOLDERS)]
    if not settings.CONNECTION_FOLDERS and not path.is_relative_to(sample):
        raise AccessError(
            "No folders are allowed on this server. Ask the operator to set CONNECTION_FOLDERS.",
            field="folder",
        )
    if not path.is_absolute() or not any(path.resolve().is_relative_to(root) for root in roots):
        raise AccessError(
            f"{folder} is not in an allowed folder. Ask the operator to add it to CONNECTION_FOLDERS.",
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
        for folder, _, names in os.walk(self._root / prefix, onerror=_raise):
            paths = [Path(folder, name) for name in names]
            yield [self._object(self._filesystem.info(str(path))) for path in paths if self._is_inside(path)]

    def path_of(self, item: BucketObject) -> Path:
        """Where it lies. Raises MonthConflict for one that is gone, or leads out of the folder by now."""
        path = self._root / safe_key(item.key)
        if not self._is_inside(path):
            raise MonthConflict(f"{path} was deleted during the sync.")
        return path

    def _is_inside(self, path: Path) -> bool:
        return path.is_file() and path.resolve().is_relative_to(self._root)

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
        return SourceError(f"{self._shown(key)} cannot be read: {type(error).__name__}.")


def _raise(error: OSError) -> None:
    raise error
