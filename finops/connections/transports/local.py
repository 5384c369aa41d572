"""A folder of this server, read and written as a bucket. Only below CONNECTION_FOLDERS, set by an operator; links
that lead outside are refused."""

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
    """Open a folder. Raises AccessError for a folder outside of CONNECTION_FOLDERS and the sample data, SourceError
    for a missing one."""
    path, sample = Path(folder), sample_folder()
    if not settings.CONNECTION_FOLDERS and not path.is_relative_to(sample):
        raise AccessError(
            "No folders are allowed on this server. Ask the operator to set CONNECTION_FOLDERS.",
            field="folder",
        )
    return open_folder_in(folder, [str(sample), *settings.CONNECTION_FOLDERS], "CONNECTION_FOLDERS")


def open_folder_in(folder: str, roots: Iterable[str], setting: str) -> LocalBucket:
    """Open a folder below the roots. Raises AccessError for a folder outside, which names the setting of the roots,
    SourceError for a missing one."""
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
    """Return the folder with the bills of the sample company, for every account; it has nothing else."""
    return Path(settings.VAR_DIR).absolute() / "sample-bills"


class LocalBucket(StorageBucket):
    """A folder; its name is its path. A version is the modification time, the size and the inode."""

    def __init__(self, root: Path) -> None:
        super().__init__(fsspec.filesystem("file"), str(root), "", scheme="file")
        self._root = root

    def _version(self, info: dict[str, Any]) -> str:
        return f"{info['mtime']}-{info['size']}-{info['ino']}"

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        """Yield one folder at a time. Links to folders, and links to files outside of the folder, are not followed."""
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
        """Return the path of an object. Raises MonthConflict for a file that was deleted, or replaced by a link that
        leads outside."""
        path = self._root / safe_key(item.key)
        if not self._is_inside(path):
            raise MonthConflict(f"{path} was deleted during the sync.")
        return path

    def _is_inside(self, path: Path) -> bool:
        return path.is_file() and path.resolve().is_relative_to(self._root)

    def _write(self, key: str, file: Path) -> None:
        """Write under a temporary name and rename, so that a reader sees the whole file or nothing."""
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
        """Return the path. Raises AccessError if a link leads out of the folder."""
        path = self._root / key
        if not path.parent.resolve().is_relative_to(self._root):
            raise AccessError(f"{self._shown(key)} is a link out of the folder.")
        return path

    @contextmanager
    def _open(self, item: BucketObject) -> Iterator[Iterator[bytes]]:
        """Open the file and compare its version on the open file, since the path may lead to another file later."""
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
