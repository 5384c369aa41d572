"""kill -9 of the web process, and of PostgreSQL, while clients push. Then every event is counted.

What was answered as accepted is there exactly once. What was not answered is there whole or not at all, and where it
can be told to be the same (event_id, Idempotency-Key) its retry ends at exactly once.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from accounts.audit import Actor
from accounts.models import User
from accounts.services import create_account
from finops.lake.usage import inbox, payload
from ingestion import services
from tests.deployment import Deployment, deployment
from tests.ingestion.push_client import PATH
from tests.waiting import wait_until

SOAK = bool(os.environ.get("SOAK"))
KILLS = 25 if SOAK else 1
CLIENTS = ["", "", "event_id", "event_id", "Idempotency-Key", "Idempotency-Key"]
"""What makes the batches of each known again."""

EVENTS = 120

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("killed"), pytest.mark.slow]


def usage_key(name: str) -> str:
    """In the server's process: the key of a fresh account's source."""
    owner = User.objects.create_user(f"{name}@example.com", "a long enough secret")
    account = create_account(name=name, owner=owner, slug=name)
    source = services.create_usage_source(account=account, actor=Actor.of_user(owner), name="Backend")
    return services.generate_usage_key(source=source, actor=Actor.of_user(owner))[1]


@pytest.fixture(scope="module")
def place(django_db_setup: None) -> Iterator[Deployment]:
    with deployment(USAGE_RATE_LIMIT_PER_MINUTE="1000000") as new_deployment:
        yield new_deployment


@dataclass
class Sender:
    """A backend that pushes batch after batch. `retry`: what makes its batches known again, and so sent until answered."""

    name: str
    port: int
    key: str
    retry: str
    batches: list[list[dict[str, Any]]] = field(default_factory=list)
    answered: dict[int, dict[str, Any]] = field(default_factory=dict)
    lost: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        chance = random.Random(self.name)
        while not self.stopped.is_set():
            at = len(self.batches)
            self.batches.append([self._event(chance, at, place) for place in range(EVENTS)])
            answer = self._send(at)
            while self.retry and answer is None:
                time.sleep(0.05)  # what a backend does between its tries
                answer = self._send(at)
            if answer is not None:
                self.answered[at] = answer

    def _event(self, chance: random.Random, at: int, place: int) -> dict[str, Any]:
        name = f"{self.name}/{at}/{place}"
        return {
            "customer_id": f"customer {chance.randrange(40)}",
            "customer_name": f"{self.name} {at}",
            "metric": chance.choice(["requests", "orders"]),
            "quantity": chance.randrange(1, 10**6) / 1000,
            "dimensions": {"name": name},
            "timestamp": f"2026-11-{1 + (at + place) % 20:02}T12:00:00Z",
            **({"event_id": name} if self.retry == "event_id" else {}),
        }

    def _send(self, at: int) -> dict[str, Any] | None:
        """The answer, or None when there was none or it says that storage failed."""
        headers = {"Authorization": f"Bearer {self.key}"}
        if self.retry == "Idempotency-Key":
            headers["Idempotency-Key"] = f"{self.name}/{at}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", PATH, json.dumps({"events": self.batches[at]}), headers)
            answer = connection.getresponse()
            result: dict[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self.lost += 1
            return None
        finally:
            connection.close()
        if answer.status in (500, 503):
            self.lost += 1
            return None
        assert answer.status == 200, result
        return result


def push_and_kill(place: Deployment, kill: Callable[[], None]) -> list[Sender]:
    key = place.call("tests.ingestion.test_push_killed:usage_key", f"a{time.monotonic_ns()}")
    senders = [Sender(f"{key[5:10]}-{at}", place.web.port, key, retry) for at, retry in enumerate(CLIENTS)]
    with ThreadPoolExecutor(len(CLIENTS)) as pool:
        working = [pool.submit(sender.work) for sender in senders]
        try:
            for _ in range(KILLS):
                wait_for_answers(senders)
                kill()
            wait_for_answers(senders)
        finally:
            for sender in senders:
                sender.stopped.set()
        for each in working:
            each.result(timeout=120)
    return senders


def wait_for_answers(senders: list[Sender]) -> None:
    """Until each has been answered some more; then a moment in the middle of things."""
    before = [len(sender.answered) for sender in senders]
    wait_until(
        lambda: all(len(sender.answered) >= was + 3 for sender, was in zip(senders, before, strict=True)),
        "the clients get no answers",
        seconds=90,
    )
    time.sleep(random.random() * 0.1)  # nothing is waited for: the kill that follows comes at any moment


def inbox_rows(place: Deployment) -> list[tuple[str, str, date, Decimal, UUID]]:
    """What is in the inbox: name, metric, day, quantity, batch."""
    values = map(inbox.payload_of_row, place.rows("SELECT payload, size, events FROM lake_usageinbox"))
    return [
        (
            json.loads(row["dimensions"])["name"],
            row["metric"],
            row["day"],
            row["quantity"],
            UUID(row["batch"]),
        )
        for row in payload.decode(values).to_pylist()
    ]


def check(place: Deployment, senders: list[Sender]) -> None:
    pending = inbox_rows(place)
    names = {sender.name for sender in senders}
    rows_of_batches = [row for row in pending if row[0].partition("/")[0] in names]
    times = Counter(row[0] for row in rows_of_batches)
    expected: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for sender in senders:
        assert all(answer["accepted"] == EVENTS for answer in sender.answered.values())
        for at, batch in enumerate(sender.batches):
            batch_times = {times[each["dimensions"]["name"]] for each in batch}
            assert batch_times in ([{1}] if at in sender.answered else [{0}, {1}]), (
                f"{sender.name}/{at}: {batch_times}"
            )
            if batch_times == {1}:
                for each in batch:
                    expected[each["metric"], each["timestamp"][:10]] += Decimal(str(each["quantity"]))
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for _name, metric, day, quantity, _batch in rows_of_batches:
        sums[metric, day.isoformat()] += quantity
    assert sums == expected
    ledger = dict(place.rows("SELECT id, accepted - duplicates FROM ingestion_usagebatch"))
    of_batches = Counter(row[4] for row in rows_of_batches)
    assert {batch: ledger[batch] for batch in of_batches} == of_batches
    assert sum(ledger.values()) == len(pending)


def test_a_killed_web_process_neither_loses_nor_duplicates_events(place: Deployment) -> None:
    def kill() -> None:
        place.web.kill()
        place.web.start()

    senders = push_and_kill(place, kill)

    check(place, senders)
    check_retries(senders)


def test_a_killed_postgresql_neither_loses_nor_duplicates_rows(place: Deployment) -> None:
    senders = push_and_kill(place, place.kill_postgres)

    check(place, senders)
    check_retries(senders)


def check_retries(senders: list[Sender]) -> None:
    """Some requests were lost, and each that could be tried again was answered in the end."""
    assert sum(sender.lost for sender in senders) > 0
    assert all(len(sender.answered) == len(sender.batches) for sender in senders if sender.retry)
