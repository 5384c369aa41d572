"""A newer version rolls over two web nodes and two workers, its migration first, while backends push and an assistant asks."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from signal import SIGTERM
from typing import Any

import httpx
import pytest

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.services import create_account
from ingestion import services
from tests.deployment import Deployment, Web, deployment, redis_server
from tests.ingestion.push_client import PATH, event
from tests.load_balancer import LoadBalancer, load_balancer
from tests.servers import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("processes")]

HERE = "tests.upgrades.test_rolling_upgrade"
NEXT = {"DJANGO_SETTINGS_MODULE": "tests.upgrades.next_settings"}
EVENTS = 20
QUESTION = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "queryUsage", "arguments": {"usage_metric": "requests"}},
}
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def keys() -> dict[str, str]:
    """In the server's process: an account with a source of usage, and what a backend and an assistant connect with."""
    owner = User.objects.create_user("owner@example.com", "a long enough secret")
    account = create_account(name="Acme", owner=owner)
    actor = Actor.of_user(owner)
    source = services.create_usage_source(account=account, actor=actor, name="Backend")
    return {
        "push": services.generate_usage_key(source=source, actor=actor)[1],
        "mcp": mint_mcp_key(account=account, actor=actor, name="Assistant")[1],
    }


class Client:
    """A backend or an assistant that sends one request after another, each over a connection of its own, until it is stopped.

    It never tries a request again, so that what fails is seen.
    """

    def __init__(self, request: Callable[[int], httpx.Response]) -> None:
        self._request = request
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go, daemon=True)
        self.answers: list[dict[str, Any]] = []
        self.failures: list[str] = []

    def _go(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                answer = self._request(number)
            except httpx.HTTPError as error:
                self.failures.append(f"{number}: {error!r}")
                continue
            if answer.status_code != 200:
                self.failures.append(f"{number}: {answer.status_code} {answer.text[:200]}")
            else:
                self.answers.append(answer.json())

    @contextmanager
    def running(self) -> Iterator[Client]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join(60)


def pusher(url: str, key: str, name: str) -> Client:
    def push(number: int) -> httpx.Response:
        now = datetime.now(UTC).isoformat()
        events = [event(event_id=f"{name}-{number}-{each}", timestamp=now) for each in range(EVENTS)]
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.post(url + PATH, json={"events": events}, headers=headers, timeout=60)

    return Client(push)


def assistant(url: str, key: str) -> Client:
    headers = {**MCP_HEADERS, "Authorization": f"Bearer {key}"}
    return Client(lambda _number: httpx.post(f"{url}/api/mcp", json=QUESTION, headers=headers, timeout=60))


def roll(balancer: LoadBalancer, old: Web, new: Web) -> None:
    """As docs/upgrading.md has it: out of rotation, SIGTERM, the new version once it is ready."""
    new.start()
    balancer.out.discard(new.port)
    balancer.out.add(old.port)
    old.stop()


@contextmanager
def worker(place: Deployment, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**place.web.server.environment, **settings}
    command = [sys.executable, "-m", "finops.worker"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(120)


def progress(clients: list[Client], requests: int = 5) -> None:
    """Every client has that many answers more."""
    before = [len(client.answers) + requests for client in clients]
    wait_until(
        lambda: (
            any(client.failures for client in clients)
            or all(len(client.answers) >= count for client, count in zip(clients, before, strict=True))
        ),
        "a client stands still",
        seconds=120,
    )


def test_no_request_fails_and_no_event_is_lost_or_doubled_while_a_version_rolls_out(
    django_db_setup: None,
) -> None:
    with ExitStack() as stack:
        redis = stack.enter_context(redis_server())
        place = stack.enter_context(deployment(REDIS_URL=redis, USAGE_RATE_LIMIT_PER_MINUTE="1000000"))
        old = [place.web, place.second_web()]
        new = [place.second_web(**NEXT), place.second_web(**NEXT)]
        for web in (*old[1:], *new):
            stack.callback(web.kill)
        old[1].start()
        old_workers = [stack.enter_context(worker(place)) for _ in range(2)]
        key_ids = place.call(f"{HERE}:keys")
        balancer = stack.enter_context(load_balancer(*(web.port for web in (*old, *new))))
        pushers = [pusher(balancer.url, key_ids["push"], name) for name in ("a", "b", "c")]
        clients = [*pushers, assistant(balancer.url, key_ids["mcp"])]
        with ExitStack() as load:
            for client in clients:
                load.enter_context(client.running())
            progress(clients)
            for process in old_workers:
                process.terminate()
            new[0].server.manage("migrate", "--verbosity=0")
            progress(clients)
            for old_web, new_web in zip(old, new, strict=True):
                roll(balancer, old_web, new_web)
                progress(clients)
            for process in old_workers:
                assert process.wait(120) in (0, -SIGTERM)  # the signal alone ends one that is still starting
            for _ in range(2):
                stack.enter_context(worker(place, **NEXT))
            progress(clients)

        assert [client.failures for client in clients] == [[], [], [], []]
        assert all(balancer.served[web.port] for web in (*old, *new))
        pushed = [answer for client in pushers for answer in client.answers]
        assert all(answer["accepted"] == EVENTS and not answer["rejected"] for answer in pushed)
        wait_until(
            lambda: total(new[0], key_ids["mcp"]) == EVENTS * len(pushed),
            lambda: f"{total(new[0], key_ids['mcp'])} of {EVENTS * len(pushed)} events count",
            seconds=60,
        )


def check_results(web: Web) -> dict[str, str]:
    checks: dict[str, str] = httpx.get(f"{web.server.url}/readyz", timeout=60).json()["checks"]
    return checks


def total(web: Web, key: str) -> int:
    answer = assistant(web.server.url, key)._request(0).json()["result"]["structuredContent"]
    return int(answer["quantity"] or 0)
