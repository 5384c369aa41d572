"""Clients that hold connections: of headers, of bodies, of answers. All on loopback, each kind as a function."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from tests.servers import ROOT

POST = b"POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
DRIP_SECONDS = 0.2

Kind = Callable[[socket.socket], None]


def half_headers(connection: socket.socket) -> None:
    connection.sendall(POST)


def one_byte_of_a_body(connection: socket.socket) -> None:
    connection.sendall(POST + b"Content-Length: 100\r\n\r\na")


def drip(connection: socket.socket) -> None:
    """A byte now and then; `slow_clients` goes on with it."""
    connection.sendall(POST + b"Content-Length: 10000\r\n\r\n")


def half_close(connection: socket.socket) -> None:
    connection.sendall(POST + b"Content-Length: 100\r\n\r\na")
    connection.shutdown(socket.SHUT_WR)


def takes_no_answer(connection: socket.socket) -> None:
    connection.sendall(b"GET /auth/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)


def takes_no_file(connection: socket.socket) -> None:
    """As `takes_no_answer`, of answers that cost the server nothing to make and are larger than its buffers."""
    request = b"GET /static/vendor/echarts/echarts.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    connection.sendall(request * 5)


KINDS: Sequence[Kind] = (half_headers, one_byte_of_a_body, drip, half_close, takes_no_answer)
IDLE_KINDS: Sequence[Kind] = (half_headers, one_byte_of_a_body, drip, half_close, takes_no_file)
"""Slow, and asking for no work of the application."""


@contextmanager
def slow_clients(
    url: str,
    count: int,
    *,
    kinds: Sequence[Kind] = KINDS,
    address: str = "127.0.0.1",
    pause: float = DRIP_SECONDS,
) -> Iterator[list[socket.socket]]:
    """So many connections from an address, of the kinds in turn, until the end of the block. What the server has ended is
    opened again after a pause in seconds, as somebody who means harm would."""
    place = urlsplit(url)
    ended = threading.Event()
    with ExitStack() as closing:

        def open_client(kind: Kind) -> socket.socket:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.bind((address, 0))
            connection.connect((place.hostname, place.port))
            kind(connection)
            return connection

        of_kinds = [kinds[number % len(kinds)] for number in range(count)]
        connections = [open_client(kind) for kind in of_kinds]

        def go_on() -> None:
            while not ended.wait(pause):
                for number, kind in enumerate(of_kinds):
                    connections[number] = _kept_up(connections[number], kind) or open_client(kind)

        dripping = threading.Thread(target=go_on, daemon=True)
        dripping.start()
        closing.callback(_close, connections)
        closing.callback(dripping.join)
        closing.callback(ended.set)
        yield connections


def _close(connections: list[socket.socket]) -> None:
    for each in connections:
        each.close()


def is_ended(connection: socket.socket) -> bool:
    """Whether the server has ended it; takes what came."""
    try:
        while connection.recv(4096, socket.MSG_DONTWAIT):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _kept_up(connection: socket.socket, kind: Kind) -> socket.socket | None:
    """The connection with another byte where its kind drips; None, and closed, where the server has ended it."""
    try:
        if kind is drip:
            connection.sendall(b"a")
        if kind in (takes_no_answer, takes_no_file) or not is_ended(connection):
            return connection
    except OSError:
        pass
    connection.close()
    return None


@contextmanager
def idle_clients(url: str, count: int, address: str) -> Iterator[None]:
    """Connections of `IDLE_KINDS` from a process of their own, which takes no time from the one that measures."""
    command = [sys.executable, "-m", "tests.finops.web.slow_clients", url, str(count), address]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield
        process.communicate()


if __name__ == "__main__":
    with slow_clients(sys.argv[1], int(sys.argv[2]), address=sys.argv[3], kinds=IDLE_KINDS, pause=1.0):
        print("connected", flush=True)  # noqa: T201
        sys.stdin.read()
