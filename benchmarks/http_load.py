"""A light HTTP/1.1 client for load: one asyncio protocol a connection, so that the client leaves the cores to the server.

A request costs it some 30 µs (measured against a server that answers at once), where httpx takes milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import cast
from urllib.parse import urlsplit

import uvloop

Bodies = Callable[[int], bytes]
"""The body of the nth request of all connections together."""


@dataclass(frozen=True)
class Load:
    """Results seen by clients: milliseconds of each response, and the total seconds."""

    timings: Sequence[float]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.timings) / self.seconds

    def percentile(self, percent: int) -> float:
        return quantiles(self.timings, n=100)[percent - 1]


def load(
    url: str,
    headers: Mapping[str, str] | Sequence[Mapping[str, str]],
    bodies: Bodies,
    *,
    connections: int,
    seconds: float,
) -> Load:
    """Each connection asks, waits for the answer and asks again, for so many seconds. Of several headers each request
    takes the next.

    Raises RuntimeError for an answer that is no success: a server that refuses is fast.
    """
    each = [headers] if isinstance(headers, Mapping) else headers
    return uvloop.run(_load(url, each, bodies, connections, seconds))


async def _load(
    url: str, each: Sequence[Mapping[str, str]], bodies: Bodies, connections: int, seconds: float
) -> Load:
    place = urlsplit(url)
    host, port = place.hostname or "", place.port or 80
    begin = f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    heads = [
        (begin + "".join(f"{name}: {value}\r\n" for name, value in headers.items())).encode()
        for headers in each
    ]
    turns = _Turns(heads, bodies, time.perf_counter() + seconds)
    loop = asyncio.get_running_loop()
    start = time.perf_counter()

    async def client() -> None:
        """Ask until the end, on a new connection after each that the server closes with an answer (`Connection: close`)."""
        is_open = True
        while is_open:
            _transport, connection = await loop.create_connection(lambda: _Connection(turns), host, port)
            is_open = await connection.done

    await asyncio.gather(*(client() for _ in range(connections)))
    return Load(turns.timings, time.perf_counter() - start)


class _Turns:
    """Shared state of the connections: next body, end time, measurements."""

    def __init__(self, heads: Sequence[bytes], bodies: Bodies, ends: float) -> None:
        self.timings: list[float] = []
        self._heads, self._bodies, self._ends, self._count = heads, bodies, ends, 0

    def next(self) -> bytes | None:
        if time.perf_counter() >= self._ends:
            return None
        body, head = self._bodies(self._count), self._heads[self._count % len(self._heads)]
        self._count += 1
        return b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body)


class _Connection(asyncio.Protocol):
    def __init__(self, turns: _Turns) -> None:
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether there is more to ask, on another connection."""
        self._turns, self._received, self._asked_at = turns, bytearray(), 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is no subclass
        self._ask()

    def _ask(self) -> None:
        request = self._turns.next()
        if request is None:
            self._end()
            return
        self._received.clear()
        self._asked_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, ends, body = self._received.partition(b"\r\n\r\n")
        if not ends or len(body) < _length(head):
            return
        self._turns.timings.append((time.perf_counter() - self._asked_at) * 1_000)
        if not head.startswith(b"HTTP/1.1 200") or b'"isError":true' in body:
            self._end(RuntimeError(f"the server answered {bytes(head + ends + body[:500])!r}"))
            return
        if b"\r\nconnection: close" in head.lower():
            self._end(more=True)
            return
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        self._end(RuntimeError(f"the server closed the connection: {error}"))

    def _end(self, error: Exception | None = None, *, more: bool = False) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(more)
        else:
            self.done.set_exception(error)
        self._transport.close()


def _length(head: bytearray) -> int:
    """Return the length of the body. Raises for a response without Content-Length (chunked), which no benchmark
    needs."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise RuntimeError(f"an answer without length: {head!r}")
