"""A load balancer on loopback: connections go to the nodes in turn, except those out of rotation or refusing
connections.

It treats new connections as ops/nginx.conf does. A request that a node has begun to answer is never sent again, so a
test sees a dropped request as a failure.
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


class LoadBalancer:
    """A running load balancer. `served` counts the connections of each port."""

    def __init__(self, ports: Sequence[int], listener: socket.socket) -> None:
        self._ports, self._listener = list(ports), listener
        self._turns = itertools.count()
        self.out: set[int] = set()
        self.served = dict.fromkeys(ports, 0)
        port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client:
            node = self._connect()
            if node is None:
                return
            with node:
                back = threading.Thread(target=_pump, args=(node, client), daemon=True)
                back.start()
                _pump(client, node)
                back.join()

    def _connect(self) -> socket.socket | None:
        start = next(self._turns)
        for at in range(len(self._ports)):
            port = self._ports[(start + at) % len(self._ports)]
            if port in self.out:
                continue
            with suppress(ConnectionRefusedError):
                node = socket.create_connection(("127.0.0.1", port))
                self.served[port] += 1
                return node
        return None


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def load_balancer(*ports: int) -> Iterator[LoadBalancer]:
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        balancer = LoadBalancer(ports, listener)
        threading.Thread(target=balancer.accept, daemon=True).start()
        yield balancer


class _ToSocket(LoadBalancer):
    """One whose node is a socket in the file system."""

    def __init__(self, path: Path, listener: socket.socket) -> None:
        super().__init__([], listener)
        self._path = path

    def _connect(self) -> socket.socket:
        node = socket.socket(socket.AF_UNIX)
        node.connect(str(self._path))
        return node


@contextmanager
def socket_on_loopback(path: Path) -> Iterator[int]:
    """The port on which a server answers that listens at `path`, for programs that may not open it."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        threading.Thread(target=_ToSocket(path, listener).accept, daemon=True).start()
        yield listener.getsockname()[1]
