"""Objects below a prefix: listed, downloaded, written and deleted within limits, through any fsspec file system.

A provider subclasses `StorageBucket` and implements how its errors are explained (`_explain`) and how its listing is paged
(`_pages`). Keys are relative to the prefix, and nothing outside of it is listed or read: keys in a manifest are untrusted data.
"""

from __future__ import annotations

import errno
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from finops.connections.connector import Fetch, MonthConflict, SourceError, SourceUnavailable
from finops.costs.focus.archives import unpack
from finops.costs.focus.errors import printable
from finops.costs.focus.normalise import FocusFile
from finops.lib import disk, time_limit
from finops.lib.errors import INVALID_JSON
from finops.lib.sentences import truncate

MAX_OBJECTS: Final = 200_000
"""Maximum number of objects in a listing: ten years of daily runs in 50 files each. About 60 MB of memory, and 200 requests."""
MAX_PAGES: Final = 2_000
"""Maximum number of pages of a listing. A page may hold fewer objects than requested, or none, and an endless run of
those ends here."""
MAX_MONTH_FILES: Final = 10_000
MAX_MONTH_BYTES: Final = 200 * 10**9
"""Maximum compressed bytes of a month: about four billion lines."""
MAX_MANIFEST_BYTES: Final = 8 * 1024**2
"""Maximum bytes of a manifest. One of 10,000 files of 400 bytes each has half of it."""
MAX_KEY: Final = 1_024
"""Maximum bytes of a key in S3, Azure and Google."""
HEAD_BYTES: Final = 64 * 1024
CHUNK_BYTES: Final = 16 * 1024**2
"""Bytes of a read. Half of it takes 5 % more time with a local server; more takes only more memory."""


@dataclass(frozen=True, slots=True)
class BucketObject:
    """A listed object. `version` is its ETag or generation: another version means other content."""

    key: str
    bytes: int
    version: str
    modified: str = ""


class StorageBucket(ABC):
    """A prefix of a bucket, opened with one credential; a context manager that closes its connections.

    Methods raise SourceError, AccessError and SourceUnavailable, with the action and its object, and MonthConflict if
    an object is not the listed version.
    """

    def __init__(self, filesystem: Any, name: str, prefix: str, *, scheme: str) -> None:
        self._filesystem = filesystem
        self.name = name
        self.prefix = "".join(f"{part}/" for part in prefix.split("/") if part)
        if self.prefix:
            safe_key(self.prefix.rstrip("/"))
        self.url = f"{scheme}://{name}/{self.prefix}".rstrip("/")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 where there is nothing to give back
        """Close connections."""

    @abstractmethod
    def _explain(self, error: Exception, action: str, key: str) -> SourceError:
        """Explain an error of the action `list`, `read`, `write` or `delete`, with the missing permission."""

    @abstractmethod
    def _version(self, info: dict[str, Any]) -> str:
        """Return the ETag or generation in fsspec's info of an object."""

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        """Yield batches of objects whose key in the bucket begins with `prefix`, with full keys. This default lists
        one folder at a time, for file systems without pages; limits are checked between folders."""
        folders = [f"{self.name}/{prefix}".rstrip("/")]
        while folders:
            entries = self._filesystem.ls(folders.pop(), detail=True)
            folders += [each["name"] for each in entries if each["type"] == "directory"]
            yield [self._object(each) for each in entries if each["type"] == "file"]

    def _object(self, info: dict[str, Any]) -> BucketObject:
        key = str(info["name"]).removeprefix(f"{self.name}/")
        return BucketObject(key, int(info["size"] or 0), self._version(info))

    def objects(self, below: str = "") -> list[BucketObject]:
        """Return every object below the prefix, or a folder of it, sorted by key. Raises SourceError above MAX_OBJECTS."""
        start = f"{self.prefix}{below}"
        listed: list[BucketObject] = []
        with self._errors("list", below):
            for number, page in enumerate(self._pages(start)):
                time_limit.check()
                listed += [self._relative(each, start) for each in page if not each.key.endswith("/")]
                if len(listed) > MAX_OBJECTS or number >= MAX_PAGES:
                    raise SourceError(
                        f"{self.url} has more than {MAX_OBJECTS:,} objects. Enter a longer prefix, or delete old objects."
                    )
        return sorted(listed, key=lambda each: each.key)

    def _relative(self, each: BucketObject, start: str) -> BucketObject:
        if not each.key.startswith(start):
            raise SourceError(f"{self.url} listed {shown_key(each.key)}, which is outside of the prefix.")
        return BucketObject(each.key[len(self.prefix) :], each.bytes, each.version, each.modified)

    def key_of(self, text: str) -> str:
        """Return the key relative to the prefix for a manifest's entry, which is a URL of this bucket or a full key.
        Raises SourceError for a key outside the prefix."""
        key = text
        if "://" in text:
            _, _, location = text.partition("://")
            bucket, _, key = location.partition("/")
            if bucket != self.name:
                raise SourceError(
                    f"A manifest names {shown_key(text)}, which is in another bucket than {self.url}."
                )
        safe_key(key)
        if not key.startswith(self.prefix):
            raise SourceError(
                f"A manifest names {shown_key(text)}, which is outside of {self.url}. Enter the prefix that the export "
                "itself has."
            )
        return key[len(self.prefix) :]

    def read(self, item: BucketObject, limit: int = MAX_MANIFEST_BYTES) -> bytes:
        """Return the content of a small object. Raises SourceError above the limit, MonthConflict if it is not the
        listed version."""
        if item.bytes > limit:
            raise SourceError(
                f"{self._shown(item.key)} has {item.bytes:,} bytes; at most {limit:,} are read."
            )
        with self._errors("read", item.key), self._open(item) as blocks:
            return self._whole(item, blocks)

    def head(self, item: BucketObject) -> bytes:
        """Return the beginning of an object, at most HEAD_BYTES."""
        beginning = replace(item, bytes=min(item.bytes, HEAD_BYTES))
        with self._errors("read", item.key), self._open(beginning) as blocks:
            return next(blocks, b"")[:HEAD_BYTES]

    def read_json(self, item: BucketObject, kind: Any) -> Any:
        """Return a manifest as `kind`, a msgspec struct. Raises SourceError for an invalid manifest."""
        try:
            return msgspec.json.decode(self.read(item), type=kind)
        except INVALID_JSON as error:
            raise SourceError(
                f"{self._shown(item.key)} cannot be read as a manifest: {truncate(str(error), 200)}."
            ) from error

    def _whole(self, item: BucketObject, blocks: Iterable[bytes]) -> bytes:
        parts = bytearray()
        for block in blocks:
            parts += block
            time_limit.check()
            self._check_size(item, len(parts), ended=False)
        self._check_size(item, len(parts), ended=True)
        return bytes(parts)

    def download(self, item: BucketObject, into: Path, progress: Callable[[int], None]) -> None:
        """Download an object to a file, in chunks. Raises MonthConflict if it is not the listed version."""
        done = 0
        with self._errors("read", item.key), self._open(item) as blocks, into.open("wb") as file:
            for block in blocks:
                done += len(block)
                self._check_size(item, done, ended=False)
                file.write(block)
                progress(len(block))
        self._check_size(item, done, ended=True)

    def _check_size(self, item: BucketObject, done: int, *, ended: bool) -> None:
        if done > item.bytes or (ended and done != item.bytes):
            raise MonthConflict(f"{self._shown(item.key)} changed while it was read.")

    def download_month(self, objects: Sequence[BucketObject], fetch: Fetch) -> list[FocusFile]:
        """Download the files of a month to the folder of the fetch; archives are replaced by their files. We choose
        the local names. Raises SourceError above the limits of a month, LowDisk without space, FocusFileError for an
        archive that cannot be unpacked, and the errors of `download`."""
        total = sum(each.bytes for each in objects)
        if len(objects) > MAX_MONTH_FILES or total > MAX_MONTH_BYTES:
            raise SourceError(
                f"A month in {self.url} has {len(objects):,} files of {total:,} bytes; at most {MAX_MONTH_FILES:,} of "
                f"{MAX_MONTH_BYTES:,} are read. Export fewer columns, or Parquet."
            )
        disk.check_disk(total)
        files = []
        for number, each in enumerate(objects, 1):
            path = fetch.folder / f"{number:05d}-{local_name(each.key)}"
            self.download(each, path, fetch.progress)
            files += _parts(FocusFile(path, printable(each.key)))
        return files

    def put(self, key: str, file: Path) -> None:
        """Write the file as the object with this key, atomically, replacing an existing one. Raises SourceError if
        the bucket cannot be written to."""
        with self._errors("write", key):
            self._write(f"{self.prefix}{safe_key(key)}", file)

    def delete(self, key: str) -> None:
        """Delete an object. A missing object is ignored."""
        with self._errors("delete", key), suppress(MonthConflict):
            self._remove(f"{self.prefix}{safe_key(key)}")

    @abstractmethod
    def _write(self, key: str, file: Path) -> None:
        """Write an object; `key` is the full key in the bucket."""

    @abstractmethod
    def _remove(self, key: str) -> None:
        """Delete an object; `key` is the full key in the bucket. May raise MonthConflict for a missing object."""

    @contextmanager
    def _open(self, item: BucketObject) -> Iterator[Iterator[bytes]]:
        """Yield blocks of an object. Its version is checked before the first block and after the last."""
        path = f"{self.name}/{self.prefix}{safe_key(item.key)}"
        self._compare(item, path)
        with self._filesystem.open(
            path, "rb", block_size=CHUNK_BYTES, cache_type="none", size=item.bytes
        ) as file:
            yield iter(lambda: file.read(CHUNK_BYTES), b"")
        self._compare(item, path)

    def _compare(self, item: BucketObject, path: str) -> None:
        self._filesystem.invalidate_cache()
        if self._version(self._filesystem.info(path)) != item.version:
            raise MonthConflict(f"{self._shown(item.key)} was replaced after it was listed.")

    def _shown(self, key: str) -> str:
        return f"{self.url}/{shown_key(key)}" if key else self.url

    @contextmanager
    def _errors(self, action: str, key: str) -> Iterator[None]:
        """Context manager that converts errors of the file system to ours. Our own errors, and those of the caller's
        progress callback, pass."""
        try:
            yield
        except (SourceError, MonthConflict, disk.LowDisk, time_limit.TimeLimitError):
            raise
        except FileNotFoundError as error:
            if action == "read":
                raise MonthConflict(f"{self._shown(key)} was deleted during the sync.") from error
            raise self._explain(error, action, key) from error
        except TimeoutError as error:
            time_limit.check()
            raise SourceUnavailable(f"{self.url} did not answer in time.") from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk.LowDisk(
                    "The disk of this server is full. Ask the operator to free space."
                ) from error
            if not _is_transport_error(error):
                raise
            raise self._explain(error, action, key) from error


def _parts(file: FocusFile) -> list[FocusFile]:
    """Return the file, or the files of an archive, which is then deleted."""
    parts = unpack(file, file.path.with_name(f"{file.path.name}.files"))
    if parts != [file]:
        file.path.unlink()
    return parts


def _is_transport_error(error: Exception) -> bool:
    """Return whether an error is from a file system or its client, and not from our own or the caller's code."""
    module = type(error).__module__.partition(".")[0]
    return isinstance(error, OSError | ValueError | KeyError) or module not in ("builtins", "finops")


def causes(error: BaseException) -> Iterator[BaseException]:
    """Return the error and its causes, each once."""
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def safe_key(key: str) -> str:
    """Return the key. Raises SourceError for a key with which a path could leave its folder, or that no bucket accepts."""
    parts = key.split("/")
    if (
        not key
        or len(key.encode(errors="replace")) > MAX_KEY
        or not key.isprintable()
        or {"", ".", ".."} & set(parts)
        or "\\" in key
    ):
        raise SourceError(
            f"{shown_key(key)} is not a valid key: it must be a path without '..', '//' and control characters."
        )
    return key


def shown_key(key: str) -> str:
    return truncate(printable(key), 200)


def local_name(key: str) -> str:
    """Return the end of a key as a local file name."""
    return re.sub(r"[^\w.=-]", "_", key.rpartition("/")[2])[-100:]


def fingerprint(*parts: str) -> str:
    """Return a digest that represents the content of a month."""
    digest = hashlib.sha256()
    for part in parts:
        with suppress(UnicodeEncodeError):
            digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()


def objects_fingerprint(objects: Iterable[BucketObject], *more: str) -> str:
    """Return the fingerprint of listed objects, in any order."""
    listed = sorted(objects, key=lambda each: each.key)
    return fingerprint(
        *more, *(text for each in listed for text in (each.key, each.version, str(each.bytes)))
    )
