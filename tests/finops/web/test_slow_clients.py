"""Slow clients next to normal clients, over HTTP on the real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.finops.web.slow_clients import (
    KINDS,
    Kind,
    half_headers,
    is_ended,
    one_byte_of_a_body,
    slow_clients,
    takes_no_answer,
)
from tests.servers import LiveServer, serve
from tests.waiting import wait_until

pytestmark = [pytest.mark.xdist_group("slow-clients"), pytest.mark.slow]

# Another address of loopback: one that behaves.
OTHER = "127.0.0.2"


@pytest.fixture(scope="module")
def server(django_db_setup: None) -> Iterator[LiveServer]:
    with serve(WEB_BODY_GRACE_SECONDS="1", WEB_CONNECTIONS_PER_ADDRESS="250") as live:
        yield live


def client(server: LiveServer, address: str = OTHER) -> httpx.Client:
    return httpx.Client(base_url=server.url, transport=httpx.HTTPTransport(local_address=address), timeout=20)


def test_two_hundred_slow_connections_of_five_kinds_do_not_fail_other_requests(server: LiveServer) -> None:
    person = {"login": "nobody@example.com", "password": "wrong"}
    with slow_clients(server.url, 200) as connections, client(server) as other:
        while True:
            assert other.get("/healthz").status_code == 200
            assert other.get("/readyz").status_code == 200
            assert other.get("/auth/login/").status_code == 200
            assert other.post("/oauth/token", data=person).status_code == 400
            assert other.post("/api/usage/events", json=[]).status_code == 401
            assert other.post("/api/mcp", json={}).status_code == 401
            if any(is_ended(each) for each in connections):
                break


def test_unfinished_bodies_of_an_address_do_not_keep_its_neighbours_from_signing_in(
    server: LiveServer,
) -> None:
    person = {"login": "nobody@example.com", "password": "wrong"}
    kinds = [one_byte_of_a_body]
    with slow_clients(server.url, 200, kinds=kinds), client(server, "127.0.0.1") as neighbour:
        for _ in range(3):
            assert neighbour.get("/auth/login/").status_code == 200
            assert neighbour.post("/oauth/token", data=person).status_code == 400


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind is not half_headers], ids=lambda kind: kind.__name__
)
def test_each_kind_is_ended_by_the_server(server: LiveServer, kind: Kind) -> None:
    place = urlsplit(server.url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect((place.hostname, place.port))
        kind(connection)
        if kind is takes_no_answer:
            port = connection.getsockname()[1]
            wait_until(lambda: port not in connected_ports(place.port or 0))
        else:
            wait_until(lambda: is_ended(connection))


def test_one_address_has_no_more_than_its_share_of_connections(server: LiveServer) -> None:
    place = urlsplit(server.url)
    idle = [socket.create_connection((place.hostname, place.port)) for _ in range(300)]
    try:
        wait_until(lambda: sum(map(is_ended, idle)) >= 50)
        with client(server) as other:
            assert other.get("/auth/login/").status_code == 200
    finally:
        for each in idle:
            each.close()


def test_a_body_that_comes_slowly_but_fast_enough_is_read_to_its_end(server: LiveServer) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(6):
            threading.Event().wait(0.5)
            yield b"a=" + b"b" * 8_190

    length = {"Content-Length": str(6 * 8_192), "Content-Type": "application/x-www-form-urlencoded"}
    with client(server) as other:
        assert other.post("/oauth/token", content=parts(), headers=length).status_code == 400


def connected_ports(server_port: int) -> set[int]:
    """Of the clients whose connections the server holds established (/proc/net/tcp: proc(5))."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        int(line[2].rpartition(":")[2], 16)
        for line in lines
        if int(line[1].rpartition(":")[2], 16) == server_port and line[3] == "01"
    }
