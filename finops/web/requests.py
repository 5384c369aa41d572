"""The open requests of this process: those whose bodies are arriving, and those being processed.

A thread that reads a body waits for the client. Such threads are cheap and limited here; a slot of a bulkhead is
taken after the body has arrived. `finops.web.connections` closes connections whose bodies are too slow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

PART: Final = 256 * 1024


class TooMany(Exception):
    """The limit of open requests is reached, in total or for this client."""


class BodyBrokeOff(Exception):
    """The client disconnected before the end of the body."""


@dataclass(eq=False, slots=True)
class OpenRequest:
    """An open request. `peer`: the address of the connection. `client`: the account, if the credential was valid
    before (`is_known`), or else the client's network. `length`: announced bytes of the body, None for a chunked one.
    `started_at` is a time of time.monotonic."""

    peer: str
    client: str
    is_known: bool
    length: int | None
    body_memory: int = 0
    """Bytes of memory for the body before the request gets a slot."""
    started_at: float = field(default_factory=time.monotonic)
    received: int = 0
    is_arriving: bool = True

    def count(self, part: bytes) -> bytes:
        self.received += len(part)
        if not part or self.received == self.length:
            self.is_arriving = False
        return part

    def is_slow(self, now: float, grace: float, rate: float) -> bool:
        """Return whether the body is over its deadline: `grace` seconds, and one more for each `rate` bytes received."""
        return self.is_arriving and now - self.started_at > grace + self.received / rate


@dataclass(frozen=True)
class RequestLimits:
    """Limits of open requests: in total, of unknown clients, and of one client; and of the bytes of waiting bodies,
    of which one client may have at most a quarter."""

    requests: int = 448
    of_unknown: int = 256
    of_client: int = 112
    body_bytes: int = 512 * 1024**2


class OpenRequests:
    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._requests: set[OpenRequest] = set()
        self._of_client: dict[str, int] = {}
        self._bytes_by_client: dict[str, int] = {}
        self._unknown = self._bytes = 0

    def add(self, request: OpenRequest) -> None:
        """Add a request. Raises TooMany."""
        limits, client = self._limits, request.client
        with self._lock:
            of_client = self._of_client.get(client, 0)
            if len(self._requests) >= limits.requests or of_client >= limits.of_client:
                raise TooMany
            if not request.is_known and self._unknown >= limits.of_unknown:
                raise TooMany
            if request.body_memory:
                self._count_bytes(request)
            self._requests.add(request)
            self._of_client[client] = of_client + 1
            self._unknown += not request.is_known

    def remove(self, request: OpenRequest) -> None:
        client = request.client
        with self._lock:
            self._requests.discard(request)
            self._unknown -= not request.is_known
            if request.body_memory:
                self._bytes -= request.body_memory
                self._bytes_by_client[client] -= request.body_memory
            remaining = self._of_client.pop(client) - 1
            if remaining:
                self._of_client[client] = remaining
            else:
                self._bytes_by_client.pop(client, None)

    def _count_bytes(self, request: OpenRequest) -> None:
        total = self._bytes + request.body_memory
        by_client = self._bytes_by_client.get(request.client, 0) + request.body_memory
        if total > self._limits.body_bytes or by_client > self._limits.body_bytes // 4:
            raise TooMany
        self._bytes, self._bytes_by_client[request.client] = total, by_client

    def of_peers(self) -> dict[str, list[OpenRequest]]:
        """Return all open requests by the address of their connection."""
        with self._lock:
            requests = list(self._requests)
        requests_by_peer: dict[str, list[OpenRequest]] = {}
        for request in requests:
            requests_by_peer.setdefault(request.peer, []).append(request)
        return requests_by_peer

    def __len__(self) -> int:
        return len(self._requests)


class CountedInput:
    """A request's input that counts the bytes read, for bodies that the application reads itself."""

    def __init__(self, stream: IO[bytes], request: OpenRequest) -> None:
        self._stream, self._request = stream, request

    def read(self, size: int = -1) -> bytes:
        return self._request.count(self._stream.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self._request.count(self._stream.readline(size))

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line


def read_whole(stream: IO[bytes], request: OpenRequest, length: int) -> bytes:
    """Read a body of `length` bytes. Raises BodyBrokeOff if the body ends early."""
    parts, remaining = [], length
    while remaining:
        try:
            part = request.count(stream.read(min(PART, remaining)))
        except OSError as error:
            raise BodyBrokeOff from error
        if not part:
            raise BodyBrokeOff
        remaining -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
