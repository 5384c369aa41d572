"""Buckets with a REST API: Azure Blob Storage and Google Cloud Storage.

Requests use `HttpApi`, so they are guarded, bounded and retried like those of every vendor, and follow no redirect:
an endpoint that a person enters needs no second guard inside an SDK (docs/adr/0039-clouds-and-warehouses-are-read-without-their-client-libraries.md).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from finops.connections.connector import SourceError, SourceUnavailable
from finops.connections.transports.bucket import CHUNK_BYTES, BucketObject, StorageBucket, safe_key

OCTETS: Final = "application/octet-stream"
NO_HEADERS: Final[Mapping[str, str]] = {}
RENEWAL_SECONDS: Final = 300
"""Seconds before its expiry at which a token is renewed."""


class RestCredential(Protocol):
    """Credential that signs requests. `principal` is its name in messages."""

    principal: str

    def headers(self) -> Mapping[str, str]: ...

    def params(self) -> list[tuple[str, str]]: ...


class BearerToken(ABC):
    """A token, fetched with the first request and renewed before it expires."""

    principal = "this identity"

    def __init__(self) -> None:
        self._token, self._ends = "", 0.0

    def headers(self) -> Mapping[str, str]:
        if time.time() > self._ends - RENEWAL_SECONDS:
            self._token, self._ends = self._sign_in()
        return {"Authorization": f"Bearer {self._token}"}

    def params(self) -> list[tuple[str, str]]:
        return []

    @abstractmethod
    def _sign_in(self) -> tuple[str, float]:
        """Return the token, and its expiry in seconds. Raises AccessError and SourceUnavailable."""


class RestBucket(StorageBucket):
    """A prefix whose objects are read by ranges, each of the listed version."""

    def __init__(self, name: str, prefix: str, *, scheme: str) -> None:
        super().__init__(None, name, prefix, scheme=scheme)

    @abstractmethod
    def _read_range(self, item: BucketObject, key: str, start: int, end: int) -> bytes:
        """Return bytes from `start` to before `end`, at most; all of an empty object. Raises MonthConflict for another version."""

    @contextmanager
    def _open(self, item: BucketObject) -> Iterator[Iterator[bytes]]:
        key = f"{self.prefix}{safe_key(item.key)}"
        yield (
            self._read_range(item, key, start, min(start + CHUNK_BYTES, item.bytes))
            for start in range(0, max(item.bytes, 1), CHUNK_BYTES)
        )

    def _version(self, info: dict[str, Any]) -> str:
        return str(info["version"])

    def _explain(self, error: Exception, action: str, key: str) -> SourceError:
        """Explain what HttpApi has not: a response in an undocumented format."""
        return SourceUnavailable(f"{self._shown(key)} returned an unexpected format: {type(error).__name__}.")


def range_header(start: int, end: int) -> dict[str, str]:
    """Return the Range header; none for an empty object, for which servers refuse every range."""
    return {"Range": f"bytes={start}-{end - 1}"} if end else {}
