"""A bucket that does not respond: questions end by their deadline, nothing else waits for it, and the server stops cleanly."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from moto.server import ThreadedMotoServer

from tests.s3 import create_bucket, variables
from tests.servers import LiveServer, free_port, serve, serve_again
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dead bucket")]

QUESTIONS = 24
DEADLINE = 5
PATIENCE = 60
"""Seconds of a request's time-out: far more than any deadline, for slow machines, and far less than the retries of S3 clients."""
BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
STALLED = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nETag: "1"\r\n'
    b"Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 1000000\r\n\r\nPAR1"
)
ENDPOINTS = {"refused": f"http://127.0.0.1:{free_port()}", "unresolvable": "http://bucket.invalid:9000"}
DEAD = {"silent": b"", "busy": BUSY, "stalled": STALLED}
"""What a dead bucket sends after each request, by name."""


class Bucket:
    """A TCP proxy in front of a real S3 server. Once it is dead, `says` is all that it sends on a connection."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.is_dead = threading.Event()
        self.says = b""
        self.unanswered: list[socket.socket] = []
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def die(self, says: bytes = b"") -> None:
        self.says = says
        self.is_dead.set()

    def revive(self) -> None:
        self.is_dead.clear()
        while self.unanswered:
            self.unanswered.pop().close()

    def close(self) -> None:
        self._listener.close()
        self.revive()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                self.connections += 1
                if self.is_dead.is_set():
                    self.unanswered.append(client)
                    if self.says:
                        threading.Thread(target=self._respond, args=(client,), daemon=True).start()
                    continue
                server = socket.create_connection(("127.0.0.1", self._behind))
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()

    def _respond(self, client: socket.socket) -> None:
        with suppress(OSError):
            client.recv(65_536)
            client.sendall(self.says)
            if self.says.endswith(b"\r\n\r\n"):
                client.close()


def _pump(reads: socket.socket, writes: socket.socket) -> None:
    with suppress(OSError), reads, writes:
        while part := reads.recv(65_536):
            writes.sendall(part)


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    proxy = Bucket(s3.get_host_and_port()[1])
    try:
        create_bucket(proxy.url, "dead")
        yield proxy
    finally:
        proxy.close()
        s3.stop()


@pytest.fixture(scope="module")
def server(django_db_setup: None, bucket: Bucket) -> Iterator[LiveServer]:
    """A server that starts while the bucket responds. Its account has no file of the lake on this machine."""
    with serve(
        LAKE_URL="s3://dead/facts", **variables(bucket.url), LAKE_DEADLINE_SECONDS=str(DEADLINE)
    ) as live:
        yield live


@pytest.fixture(scope="module")
def keys(server: LiveServer) -> dict[str, str]:
    by_endpoint: dict[str, str] = server.run("tests.finops.web.dead_bucket:account")
    return by_endpoint


@pytest.fixture(autouse=True)
def _revived(bucket: Bucket) -> Iterator[None]:
    yield
    bucket.revive()


def question(key: str, last_day: int = 20) -> dict[str, Any]:
    arguments = {"group_by": "service", "start_date": "2026-01-01", "end_date": f"2026-01-{last_day:02}"}
    params = {"name": "querySpend", "arguments": arguments}
    return {
        "json": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        "headers": {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"},
        "timeout": PATIENCE,
    }


@pytest.mark.parametrize("kind", ["refused", "unresolvable", *DEAD])
def test_a_server_that_starts_beside_a_dead_bucket_responds_and_stops(
    server: LiveServer, bucket: Bucket, keys: dict[str, str], kind: str
) -> None:
    endpoint = ENDPOINTS.get(kind, bucket.url)
    if kind in DEAD:
        bucket.die(DEAD[kind])
    with (
        ThreadPoolExecutor() as pool,
        serve_again(
            server, AWS_ENDPOINT_URL=endpoint, AWS_MAX_ATTEMPTS="50", AWS_RETRY_MODE="legacy"
        ) as live,
    ):
        answers = [pool.submit(httpx.post, live.mcp_url, **question(keys["mcp"], day)) for day in (20, 21)]
        ready = httpx.get(f"{live.url}/readyz", timeout=PATIENCE)
        assert (ready.status_code, ready.json()["checks"]["lake"]) == (200, "failed")
        for each in answers:
            assert each.result().json()["result"]["isError"]
            assert "cannot be read right now" in each.result().json()["result"]["content"][0]["text"]
        # A client that does not wait for its response. `serve_again` verifies the exit status.
        abandon(live, question(keys["mcp"], 22), bucket)


def abandon(server: LiveServer, request: dict[str, Any], bucket: Bucket) -> None:
    """Send a request and disconnect once it waits for the bucket, if the bucket accepts connections."""
    before = bucket.connections
    host, port = urlsplit(server.url).hostname, urlsplit(server.url).port
    with socket.create_connection((host, port)) as client:
        body = json.dumps(request["json"]).encode()
        headers = {**request["headers"], "Host": host, "Content-Length": len(body)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        client.sendall(f"POST /api/mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        if bucket.is_dead.is_set():
            wait_until(lambda: bucket.connections > before)


def test_questions_at_a_dead_bucket_hold_up_no_push_no_page_and_no_probe(
    server: LiveServer, bucket: Bucket, keys: dict[str, str]
) -> None:
    bucket.die()

    def push() -> httpx.Response:
        event = {
            "metric": "requests",
            "quantity": 1,
            "customer_id": "c-1",
            "timestamp": "2026-11-20T10:00:00Z",
        }
        headers = {"Authorization": f"Bearer {keys['usage']}"}
        return httpx.post(
            f"{server.url}/api/usage/events", json={"events": [event]}, headers=headers, timeout=PATIENCE
        )

    with ThreadPoolExecutor(QUESTIONS) as pool:
        answers = [
            pool.submit(httpx.post, server.mcp_url, **question(keys["mcp"], number + 2))
            for number in range(QUESTIONS)
        ]
        wait_until(lambda: len(bucket.unanswered) > 0)
        assert [push().json()["accepted"] for _ in range(20)] == [1] * 20
        assert httpx.get(f"{server.url}/auth/login/", timeout=PATIENCE).status_code == 200
        assert httpx.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200
        bucket.revive()
        assert {each.result().status_code for each in answers} <= {200, 503}
