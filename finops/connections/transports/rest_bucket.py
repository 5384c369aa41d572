"""Buckets that are read by their REST API: Azure Blob Storage and Google Cloud Storage.

Through `HttpApi`, whose requests are guarded, bounded and retried as those of every vendor, and follow no redirect: so an
endpoint that a person enters needs no second guard inside an SDK (docs/adr/0036-object-stores-by-rest.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from finops.connections.connector import SourceError, SourceUnavailable
from finops.connections.transports.bucket import CHUNK_BYTES, BucketObject, StorageBucket, safe_key


class RestBucket(StorageBucket):
    """A prefix whose objects are read by ranges, each of the version that was listed."""

    def __init__(self, name: str, prefix: str, *, scheme: str) -> None:
        super().__init__(None, name, prefix, scheme=scheme)

    @abstractmethod
    def _read_range(self, found: BucketObject, key: str, start: int, end: int) -> bytes:
        """Bytes from `start` to before `end`, at most; all of an object of no bytes. Raises MonthConflict for another version."""

    @contextmanager
    def _open(self, found: BucketObject) -> Iterator[Iterator[bytes]]:
        key = f"{self.prefix}{safe_key(found.key)}"
        yield (
            self._read_range(found, key, start, min(start + CHUNK_BYTES, found.bytes))
            for start in range(0, max(found.bytes, 1), CHUNK_BYTES)
        )

    def _version(self, info: dict[str, Any]) -> str:
        return str(info["version"])

    def _explain(self, error: Exception, action: str, key: str) -> SourceError:
        """What HttpApi has not explained: an answer of another form than is documented."""
        return SourceUnavailable(
            f"{self._shown(key)} answered in a way that cannot be read: {type(error).__name__}."
        )


def range_header(start: int, end: int) -> dict[str, str]:
    """None for an object of no bytes, of which servers refuse every range."""
    return {"Range": f"bytes={start}-{end - 1}"} if end else {}
