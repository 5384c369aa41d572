"""The billing months of files whose path names none, by their version: such a file is read once to know its month.

On the disk of this server, because each look and each fetch is a process of its own. What is lost is read again.
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
"""Of months that no look has used: a week is the longest interval, a day the longest delay after failures."""
_decode: Final = msgspec.json.Decoder(dict[str, date | None]).decode


class BucketMonths:
    """Of the files of one connection, read by one column mapping and with one set of defaults."""

    def __init__(self, url: str, config: ConnectorConfig) -> None:
        parts = [config.external_id, url, config.column_mapping, config.defaults]
        self._path = _folder() / sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
        self._stored = self._load()
        self._used: dict[str, date | None] = {}

    def month_of(self, item: BucketObject, read: Callable[[], date | None]) -> date | None:
        """The month that is stored for this version of the file, else what `read` answers. Raises what `read` raises."""
        name = sha256(msgspec.json.encode([item.key, item.version])).hexdigest()
        self._used[name] = self._stored[name] if name in self._stored else read()
        return self._used[name]

    def save(self, *, is_complete: bool) -> None:
        """Stores what was used; with `is_complete` nothing else, since other files are gone."""
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
    """The months of a bucket's files; what the block learns is stored, also when it fails."""
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
