"""A backup is taken under load, and restored on an empty machine."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.finops.backup.machine import KEYS, empty_machine, record_of, run
from tests.servers import LiveServer, serve

# The test database is made for tests that are marked; machines are copies of it.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

HERE = "tests.finops.backup.machine"
EVENTS = 40


@pytest.fixture
def company(django_db_setup: None) -> Iterator[LiveServer]:
    with empty_machine() as machine:
        machine.run(f"{HERE}:company")
        yield machine


def test_everything_is_there_after_a_restore_on_an_empty_machine(company: LiveServer, tmp_path: Path) -> None:
    code, output = run(company, "backup", str(tmp_path / "target"))
    assert (code, "is complete and verified" in output) == (0, True)
    assert "Not in the backup: SECRET_KEY" in output

    with empty_machine(migrated=False) as empty:
        code, output = run(empty, "restore", str(tmp_path / "target"))
        assert (code, "4 lake files" in output) == (0, True), output
        assert empty.run(f"{HERE}:facts") == company.run(f"{HERE}:facts")


@dataclass
class Sender:
    """A backend that pushes batch after batch: their names, and when each was answered."""

    name: str
    port: int
    key: str
    answered: dict[str, float] = field(default_factory=dict)
    stopped: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            self._push_until_stopped(connection)

    def _push_until_stopped(self, connection: http.client.HTTPConnection) -> None:
        number = 0
        while not self.stopped.is_set():
            batch = f"{self.name}/{number}"
            events = [
                {
                    "customer_id": "c",
                    "metric": "requests",
                    "quantity": 1,
                    "timestamp": "2026-11-20T12:00:00Z",
                    "dimensions": {"name": f"{batch}/{place}"},
                }
                for place in range(EVENTS)
            ]
            headers = {"Authorization": f"Bearer {self.key}"}
            connection.request("POST", "/api/usage/events", json.dumps({"events": events}), headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            self.answered[batch] = time.time()
            number += 1


@pytest.mark.long  # test_backups.py removes files and stops a backup halfway, one at a time
def test_every_push_answered_before_the_moment_of_a_backup_under_load_is_there_once_and_none_half(
    django_db_setup: None, tmp_path: Path
) -> None:
    with serve(USAGE_RATE_LIMIT_PER_MINUTE="1000000", **KEYS) as server, empty_machine() as empty:
        key = server.run("tests.ingestion.test_push_live:usage_key")
        port = int(server.url.rpartition(":")[2])
        senders = [Sender(f"s{number}", port, key) for number in range(3)]
        threads = [threading.Thread(target=sender.work) for sender in senders]
        ended, removed = threading.Event(), []

        def housekeeping() -> None:
            while not ended.is_set():
                removed.append(server.run(f"{HERE}:housekeeping", "push-live"))

        threads.append(threading.Thread(target=housekeeping))
        for thread in threads:
            thread.start()
        try:
            server.manage("backup", str(tmp_path / "target"))
            wait_for_more(senders)
        finally:
            ended.set()
            for sender in senders:
                sender.stopped.set()
            for thread in threads:
                thread.join()

        code, output = run(empty, "restore", str(tmp_path / "target"))
        assert code == 0, output
        counts = empty.run(f"{HERE}:event_counts", "push-live")

    moment = record_of(tmp_path / "target").taken_at.timestamp()
    receipts = {batch: at for sender in senders for batch, at in sender.answered.items()}
    before = {batch for batch, at in receipts.items() if at < moment}
    there = {batch: [counts.get(f"{batch}/{place}") for place in range(EVENTS)] for batch in receipts}
    assert before
    assert len(before) < len(receipts)
    assert sum(removed) > 0
    assert {batch for batch in before if set(there[batch]) != {"1.000"}} == set()
    assert {batch for batch, values in there.items() if len(set(values)) != 1} == set()
    assert set(counts.values()) == {"1.000"}


def wait_for_more(senders: list[Sender]) -> None:
    """Some batch of each is answered after the backup."""
    counts = [len(sender.answered) for sender in senders]
    while any(len(sender.answered) <= count for sender, count in zip(senders, counts, strict=True)):
        time.sleep(0.05)
