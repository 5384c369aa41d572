"""Clients that hold connections: of headers, of bodies, of answers. All on loopback, each kind as a function."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

POST = b"POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
DRIP_SECONDS = 0.2

Kind = Callable[[socket.socket], None]


def half_headers(connection: socket.socket) -> None:
    connection.sendall(POST)


def one_byte_of_a_body(connection: socket.socket) -> None:
    connection.sendall(POST + b"Content-Length: 100\r\n\r\na")


def drip(connection: socket.socket) -> None:
    """A byte now and then; `SlowClients` goes on with it."""
    connection.sendall(POST + b"Content-Length: 10000\r\n\r\n")


def half_closed(connection: socket.socket) -> None:
    connection.sendall(POST + b"Content-Length: 100\r\n\r\na")
    connection.shutdown(socket.SHUT_WR)


def takes_no_answer(connection: socket.socket) -> None:
    connection.sendall(b"GET /auth/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)


KINDS: Sequence[Kind] = (half_headers, one_byte_of_a_body, drip, half_closed, takes_no_answer)


@contextmanager
def slow_clients(
    url: str, count: int, *, kinds: Sequence[Kind] = KINDS, address: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    """So many connections from an address, of the kinds in turn, until the end of the block. What the server has ended is
    opened again, as somebody who means harm would."""
    place = urlsplit(url)
    ended = threading.Event()
    with ExitStack() as closing:

        def opened(kind: Kind) -> socket.socket:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.bind((address, 0))
            connection.connect((place.hostname, place.port))
            kind(connection)
            return connection

        of_kinds = [kinds[number % len(kinds)] for number in range(count)]
        connections = [opened(kind) for kind in of_kinds]

        def go_on() -> None:
            while not ended.wait(DRIP_SECONDS):
                for number, kind in enumerate(of_kinds):
                    connections[number] = _kept_up(connections[number], kind) or opened(kind)

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
        if kind is takes_no_answer or not is_ended(connection):
            return connection
    except OSError:
        pass
    connection.close()
    return None
