"""Questions that wait for a bucket that does not answer hold nothing that a push, a page or a probe needs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest
from moto.server import ThreadedMotoServer

from tests.s3 import create_bucket, variables
from tests.servers import LiveServer, serve
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

QUESTIONS = 24


class Bucket:
    """A TCP proxy in front of a real S3 server. Once it is dead it takes connections and answers nothing."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.is_dead = threading.Event()
        self.unanswered: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                if self.is_dead.is_set():
                    self.unanswered.append(client)
                    continue
                server = socket.create_connection(("127.0.0.1", self._behind))
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=_pump, args=ends, daemon=True).start()

    def revive(self) -> None:
        self.is_dead.clear()
        while self.unanswered:
            self.unanswered.pop().close()

    def close(self) -> None:
        self._listener.close()
        self.revive()


def _pump(reads: socket.socket, writes: socket.socket) -> None:
    with suppress(OSError), reads, writes:
        while part := reads.recv(65_536):
            writes.sendall(part)


@pytest.fixture
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


@pytest.fixture
def server(django_db_setup: None, bucket: Bucket) -> Iterator[LiveServer]:
    with serve(
        LAKE_URL="s3://dead/facts",
        **variables(bucket.url),
        AWS_MAX_ATTEMPTS="1",
        LAKE_DEADLINE_SECONDS="5",
    ) as live:
        yield live


def test_questions_at_a_dead_bucket_hold_up_no_push_no_page_and_no_probe(
    server: LiveServer, bucket: Bucket
) -> None:
    keys = server.run("tests.finops.web.dead_bucket:account")
    bucket.is_dead.set()

    def question(number: int) -> httpx.Response:
        arguments = {
            "group_by": "service",
            "start_date": "2026-01-01",
            "end_date": f"2026-01-{number + 2:02}",
        }
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "querySpend", "arguments": arguments},
        }
        headers = {"Authorization": f"Bearer {keys['mcp']}", "Accept": "application/json, text/event-stream"}
        return httpx.post(server.mcp_url, json=call, headers=headers, timeout=120)

    def push() -> httpx.Response:
        event = {
            "metric": "requests",
            "quantity": 1,
            "customer_id": "c-1",
            "timestamp": "2026-11-20T10:00:00Z",
        }
        headers = {"Authorization": f"Bearer {keys['usage']}"}
        return httpx.post(
            f"{server.url}/api/usage/events", json={"events": [event]}, headers=headers, timeout=60
        )

    with ThreadPoolExecutor(QUESTIONS) as pool:
        futures: list[Future[httpx.Response]] = [pool.submit(question, number) for number in range(QUESTIONS)]
        wait_until(lambda: len(bucket.unanswered) > 0)
        assert [push().json()["accepted"] for _ in range(20)] == [1] * 20
        assert httpx.get(f"{server.url}/auth/login/", timeout=60).status_code == 200
        assert httpx.get(f"{server.url}/healthz", timeout=60).status_code == 200
        assert sum(each.done() for each in futures) < QUESTIONS // 2, "most questions still wait"
        bucket.revive()
        assert {each.result().status_code for each in futures} <= {200, 503}
