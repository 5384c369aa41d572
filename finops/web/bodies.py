"""Request bodies as they arrive: each is read to its announced length or its last chunk, or it is incomplete.

A part is awaited in the event loop, so a slow client holds no thread, and has a deadline of its own.
"""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from finops.lib.request_body import IncompleteBody

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Receive = Callable[[], Awaitable[Mapping[str, Any]]]

DRAIN_BYTES: Final = 64 * 1024**2
DRAIN_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Pace:
    """The time for a body: `grace` seconds of waiting, and one more for each `rate` bytes that arrived."""

    grace: float = 10.0
    rate: float = 4096.0


class Body:
    """The body of a request. `length`: announced bytes, None for a chunked body."""

    def __init__(self, receive: Receive, length: int | None, pace: Pace) -> None:
        self._receive, self._pace = receive, pace
        self._waited = 0.0
        self._timeout: asyncio.Timeout | None = None
        self.length = length
        self.received = 0
        self.is_complete = length == 0
        self.is_broken = False

    async def part(self) -> bytes:
        """Return the next bytes; none at the end. Raises IncompleteBody."""
        while not self.is_complete:
            message = await self._message()
            data: bytes = message.get("body", b"")
            self.received += len(data)
            self.is_complete = not message.get("more_body", False) or self.received == self.length
            if message["type"] != "http.request" or (
                self.is_complete and self.length not in (None, self.received)
            ):
                raise self._broken()
            if data:
                return data
        return b""

    async def read(self, limit: int) -> bytes:
        """Return the body up to its end, or a little more than `limit` bytes of it. Raises IncompleteBody."""
        parts, size = [], 0
        while size <= limit and (part := await self.part()):
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    def break_off(self) -> None:
        """End the wait for the next part; its reader gets IncompleteBody."""
        self.is_broken = True
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(0)

    async def drain(self) -> None:
        """Read what is left of a body whose request is answered, up to a limit of size and time: clients such as urllib
        send all of it before they read the answer, and get a broken pipe from a server that closes before."""
        if self.length is not None and self.length - self.received > DRAIN_BYTES:
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                read = 0
                while read < DRAIN_BYTES and (part := await self.part()):
                    read += len(part)
        except (IncompleteBody, TimeoutError):
            pass

    async def _message(self) -> Mapping[str, Any]:
        if self.is_broken:
            raise self._broken()
        loop = asyncio.get_running_loop()
        begun_at = loop.time()
        deadline = begun_at + self._pace.grace + self.received / self._pace.rate - self._waited
        try:
            async with asyncio.timeout_at(deadline) as self._timeout:
                return await self._receive()
        except TimeoutError as error:
            raise self._broken() from error
        finally:
            self._timeout = None
            self._waited += loop.time() - begun_at

    def _broken(self) -> IncompleteBody:
        self.is_broken = True
        return IncompleteBody("The body is incomplete.")


class BodyStream(io.RawIOBase):
    """A body for the application, which reads it in another thread. `begun`: what was read before."""

    def __init__(self, body: Body, begun: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self._body, self._loop, self._part = body, loop, memoryview(begun)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Raises IncompleteBody."""
        view = memoryview(buffer).cast("B")
        if not self._part:
            part = asyncio.run_coroutine_threadsafe(self._body.part(), self._loop).result()
            self._part = memoryview(part)
        size = min(len(view), len(self._part))
        view[:size] = self._part[:size]
        self._part = self._part[size:]
        return size


class TooMany(Exception):
    """The limit of arriving bodies is reached, in total or for this client."""


@dataclass(frozen=True)
class BodyLimits:
    """Limits of the bodies that arrive at once: in total, of unknown clients, and of one client; and of the bytes that
    they may take in memory, of which one client may have at most a quarter."""

    bodies: int = 2048
    of_unknown: int = 1024
    of_client: int = 64
    memory: int = 512 * 1024**2


@dataclass(eq=False, slots=True)
class Arrival:
    """An arriving body. `client`: the account, if the credential was valid before (`is_known`), or else the client's
    network. `memory`: bytes that it may take before the request gets a slot."""

    body: Body
    client: str
    is_known: bool
    memory: int


class ArrivingBodies:
    """The bodies that are arriving in this process. Used in the event loop only."""

    def __init__(self, limits: BodyLimits) -> None:
        self._limits = limits
        self._by_client: dict[str, OrderedDict[Arrival, None]] = {}
        self._memory_by_client: dict[str, int] = {}
        self._unknown: OrderedDict[Arrival, None] = OrderedDict()
        self._count = self._memory = 0

    def __len__(self) -> int:
        return self._count

    def add(self, arrival: Arrival) -> None:
        """Count a body. One of an unknown client takes the place of the oldest, which has had the most time. Raises TooMany."""
        limits, client = self._limits, arrival.client
        of_client = self._by_client.get(client, OrderedDict())
        if self._count >= limits.bodies or (arrival.is_known and len(of_client) >= limits.of_client):
            raise TooMany
        memory = self._memory_by_client.get(client, 0) + arrival.memory
        if self._memory + arrival.memory > limits.memory or memory > limits.memory // 4:
            raise TooMany
        if not arrival.is_known:
            if len(of_client) >= limits.of_client:
                self._break_off(next(iter(of_client)))
            elif len(self._unknown) >= limits.of_unknown:
                self._break_off(next(iter(self._unknown)))
            self._unknown[arrival] = None
        self._by_client.setdefault(client, OrderedDict())[arrival] = None
        self._memory_by_client[client] = self._memory_by_client.get(client, 0) + arrival.memory
        self._memory += arrival.memory
        self._count += 1

    def remove(self, arrival: Arrival) -> None:
        client = arrival.client
        of_client = self._by_client.get(client)
        if of_client is None or arrival not in of_client:
            return  # broken off for another
        del of_client[arrival]
        self._unknown.pop(arrival, None)
        self._count -= 1
        self._memory -= arrival.memory
        self._memory_by_client[client] -= arrival.memory
        if not of_client:
            del self._by_client[client], self._memory_by_client[client]

    def _break_off(self, arrival: Arrival) -> None:
        self.remove(arrival)
        arrival.body.break_off()
