"""Connections are spread evenly over web processes, whichever of them took them first."""

from __future__ import annotations

import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from finops.web import shares
from finops.web.shares import ConnectionShares
from tests.finops.web.test_processes import Web
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def pair() -> tuple[ConnectionShares, ConnectionShares]:
    descriptor = shares.new_file(2)
    return ConnectionShares(descriptor, 0, 2), ConnectionShares(descriptor, 1, 2)


def give_up_count(each: ConnectionShares) -> int:
    return sum(each.give_up() for _ in range(100))


def test_a_process_with_all_connections_gives_up_those_above_its_share(
    pair: tuple[ConnectionShares, ConnectionShares],
) -> None:
    first, second = pair
    second.note(0)
    first.note(8)

    assert (give_up_count(first), give_up_count(second)) == (4, 0)
    second.note(4)
    first.note(4)
    assert (give_up_count(first), give_up_count(second)) == (0, 0)


def test_one_connection_more_is_even(pair: tuple[ConnectionShares, ConnectionShares]) -> None:
    first, second = pair
    second.note(3)
    first.note(4)

    assert give_up_count(first) == 0


def test_a_process_that_has_gone_takes_no_share(
    pair: tuple[ConnectionShares, ConnectionShares], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pair
    second.note(0)
    later = time.monotonic() + shares.CURRENT_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    first.note(8)

    assert give_up_count(first) == 0


def test_a_process_alone_has_no_shares() -> None:
    assert shares.own({}) is None


def connections_of(pid: int, port: int) -> int:
    """Established TCP connections to `port` whose socket this process has open."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(str(descriptor.readlink()))
        except FileNotFoundError:
            continue
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    own = [row for row in rows if int(row[1].split(":")[1], 16) == port and row[3] == "01"]
    return sum(f"socket:[{row[9]}]" in inodes for row in own)


@pytest.mark.parametrize(("connections", "least"), [(8, 3), (64, 26)])
def test_clients_that_one_process_took_first_are_shared(tmp_path: Path, connections: int, least: int) -> None:
    server = Web(tmp_path)
    clients = [HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(connections)]
    try:
        wait_until(lambda: server.process.poll() is not None or server.get() == b"ok")
        wait_until(lambda: len(server.processes()) == 2)

        def ask() -> list[int]:
            for client in clients:
                # Refused without a word to a database, which this server has none of.
                client.request("POST", "/api/mcp", body=b"{}")
                client.getresponse().read()
            return sorted(connections_of(pid, server.port) for pid in server.processes())

        # Whoever is sent away comes back to the quicker of the two, so the last one may go to and fro.
        wait_until(lambda: min(ask()) >= least, pause=0.3)
    finally:
        for client in clients:
            client.close()
        server.process.terminate()
        server.process.wait(60)
        server.socket.close()
