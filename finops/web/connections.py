"""Closes connections that hold resources without progress: responses that the client does not read, and connections
of one address above its share. `bodies` has the time for a body.

granian writes outside Python and limits only the time for headers and of idle connections. Linux records
for every connection of this process how much was sent each way and when (TCP_INFO, tcp(7)). A thread checks them
every second and shuts down those over a limit: the server sees the client disconnect. A check costs some 10 µs for each connection. On systems other than Linux connections are not
checked.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from finops.web.shares import ConnectionShares

LOOK_SECONDS: Final = 1.0
_DESCRIPTORS: Final = Path("/proc/self/fd")
_ESTABLISHED: Final = 1

log = logging.getLogger(__name__)


class TcpInfo(NamedTuple):
    """Fields of struct tcp_info (linux/tcp.h): unacknowledged, acknowledged and unsent bytes."""

    state: int
    unacked: int
    acked: int
    unsent: int


_LAYOUT: Final = struct.Struct("=B 23x I 92x Q 16x I")


@dataclass(frozen=True)
class Limits:
    """Limits of a connection. A pending response must progress by `rate` bytes a second over each `grace`; one address has
    at most `most_of_address` open connections."""

    grace: float = 10.0
    rate: float = 4096.0
    most_of_address: int = 512


@dataclass
class Connection:
    """Results of the checks of a connection. Times are those of time.monotonic."""

    peer: str
    seen: float
    # Since when bytes of a response are unacknowledged, and how many had been acknowledged before.
    stuck_since: float | None = None
    stuck_from: int = 0

    def update(self, info: TcpInfo, now: float, limits: Limits) -> None:
        if not info.unacked and not info.unsent:
            self.stuck_since = None
        elif self.stuck_since is None or info.acked - self.stuck_from >= limits.rate * limits.grace:
            self.stuck_since, self.stuck_from = now, info.acked

    def takes_nothing(self, now: float, limits: Limits) -> bool:
        return self.stuck_since is not None and now - self.stuck_since > limits.grace


class ConnectionWatch(threading.Thread):
    """The thread that checks connections. `behind_proxy`: connections come from a proxy, so there is no limit for
    each address."""

    def __init__(
        self,
        limits: Limits,
        *,
        behind_proxy: bool,
        shares: ConnectionShares | None = None,
    ) -> None:
        super().__init__(name="connection watch", daemon=True)
        self._shares = shares
        self._limits, self._behind_proxy = limits, behind_proxy
        self._connections: dict[tuple[str, int], Connection] = {}

    def run(self) -> None:
        while _DESCRIPTORS.exists():
            time.sleep(LOOK_SECONDS)
            try:
                self.look()
            except Exception:
                log.exception("looking at connections failed")

    def look(self) -> None:
        now = time.monotonic()
        with _connections() as sockets:
            current = {}
            for key, (_socket, info) in sockets.items():
                current[key] = self._connections.get(key) or Connection(key[0], now)
                current[key].update(info, now, self._limits)
            self._connections = current
            if self._shares is not None:
                self._shares.note(len(current))
            to_close = self._over_deadline(now) | self._over_share()
            for key in to_close:
                with suppress(OSError):
                    sockets[key][0].shutdown(socket.SHUT_RDWR)
        if to_close:
            log.warning("Closed %d connections: too slow, or too many from one address.", len(to_close))

    def _over_deadline(self, now: float) -> set[tuple[str, int]]:
        return {key for key, each in self._connections.items() if each.takes_nothing(now, self._limits)}

    def _over_share(self) -> set[tuple[str, int]]:
        if self._behind_proxy or len(self._connections) <= self._limits.most_of_address:
            return set()
        of_address: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for key, each in sorted(self._connections.items(), key=lambda item: item[1].seen):
            of_address[each.peer].append(key)
        limit = self._limits.most_of_address
        return {key for keys in of_address.values() for key in keys[: max(0, len(keys) - limit)]}


Peer = tuple[str, int]
ClientSockets = Mapping[Peer, tuple[socket.socket, TcpInfo]]


@contextmanager
def _connections() -> Iterator[ClientSockets]:
    """Yield the TCP connections that clients opened to this process, by peer. The duplicated descriptors are closed
    afterwards."""
    with ExitStack() as copies:
        sockets = [copies.enter_context(each) for each in _sockets()]
        ports = {each.getsockname()[1] for each in sockets if _listens(each)}
        connections = {}
        for each in sockets:
            # Connections that this process opened, to the database or a bucket, have another local port.
            with suppress(OSError):
                info, peer = _info(each), each.getpeername()
                if info.state == _ESTABLISHED and each.getsockname()[1] in ports:
                    connections[(str(peer[0]), int(peer[1]))] = (each, info)
        yield connections


def _sockets() -> Iterator[socket.socket]:
    for descriptor in _DESCRIPTORS.iterdir():
        with suppress(OSError):
            if str(descriptor.readlink()).startswith("socket:"):
                copy = socket.socket(fileno=os.dup(int(descriptor.name)))
                if copy.type == socket.SOCK_STREAM and copy.family in (socket.AF_INET, socket.AF_INET6):
                    yield copy
                else:
                    copy.close()


def _listens(each: socket.socket) -> bool:
    return bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _info(each: socket.socket) -> TcpInfo:
    return TcpInfo(*_LAYOUT.unpack(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAYOUT.size)))
