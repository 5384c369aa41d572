"""A cache of the billing months of files whose path has no month, by the version of the file: each version is read once.

Stored on the disk of this server, because each listing and each fetch is a separate process. A lost entry is read again.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from django.conf import settings

from finops.connections.connector import ConnectorConfig
from finops.connections.transports.bucket import BucketObject

RETENTION_SECONDS: Final = 40 * 86_400
"""Seconds after which unused months are removed: the longest interval is a week, the longest delay after failures a day."""
_decode: Final = msgspec.json.Decoder(dict[str, date | None]).decode


class BucketMonths:
    """The months of the files of one connection, with one column mapping and one set of defaults."""

    def __init__(self, url: str, config: ConnectorConfig) -> None:
        parts = [config.external_id, url, config.column_mapping, config.defaults]
        self._path = _folder() / sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
        self._stored = self._load()
        self._used: dict[str, date | None] = {}

    def month_of(self, item: BucketObject, read: Callable[[], date | None]) -> date | None:
        """Return the stored month of this version of the file, or else the result of `read`. Raises the errors of `read`."""
        name = sha256(msgspec.json.encode([item.key, item.version])).hexdigest()
        self._used[name] = self._stored[name] if name in self._stored else read()
        return self._used[name]

    def save(self, *, is_complete: bool) -> None:
        """Store the used months. With `is_complete` all others are removed, since their files no longer exist."""
        months = self._used if is_complete else self._stored | self._used
        if months == self._stored:
            with suppress(FileNotFoundError):
                os.utime(self._path)
            return
        with tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False) as file:
            file.write(msgspec.json.encode(months))
        Path(file.name).replace(self._path)
        _prune()

    def _load(self) -> dict[str, date | None]:
        try:
            return _decode(self._path.read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            return {}


@contextmanager
def file_months(url: str, config: ConnectorConfig) -> Iterator[BucketMonths]:
    """Context manager with the months of a bucket's files. New ones are stored at the end, also after an error."""
    months, is_complete = BucketMonths(url, config), False
    try:
        yield months
        is_complete = True
    finally:
        months.save(is_complete=is_complete)


def _folder() -> Path:
    folder = Path(settings.VAR_DIR) / "file-months"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _prune() -> None:
    oldest = time.time() - RETENTION_SECONDS
    for path in _folder().iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()
