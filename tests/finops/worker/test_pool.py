"""The pool of a worker program: lanes that cannot take each other's threads."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from finops.lib import time_limit
from finops.worker.pool import NOTHING_DONE, LanePool
from tests.waiting import wait_until

PATIENCE = 20


class Pool:
    """A pool, and the calls that a test makes of it as Celery's consumer does."""

    def __init__(self) -> None:
        self.pool = LanePool(limit=7)
        self.begun: list[tuple[str, Any]] = []
        self.answers: list[Any] = []
        self.release = threading.Event()

    def send(self, task: str, *arguments: int, hangs: bool = False) -> None:
        def target(*_: Any) -> tuple[bool, str, float]:
            self.begun.append((task, arguments))
            if hangs:
                assert self.release.wait(PATIENCE)
            return (False, "null", 1.0)

        body = json.dumps([arguments, {}, {}])
        self.pool.on_apply(target, (task, "id", {}, body, "json", "utf-8"), {}, self.answers.append)


@pytest.fixture
def pool() -> Iterator[Pool]:
    lane_pool = Pool()
    yield lane_pool
    lane_pool.release.set()
    lane_pool.pool.on_stop()


def test_deliveries_and_merges_that_hang_hold_no_flush_and_no_clock(pool: Pool) -> None:
    for tenant in range(10):
        pool.send("alerts.send_delivery", tenant, 1, hangs=True)
        pool.send("lake.merge_usage", tenant, hangs=True)
    pool.send("ingestion.flush_due_usage")
    pool.send("ingestion.flush_usage", 1)
    pool.send("alerts.evaluate", 1)

    wait_until(lambda: len(pool.answers) == 3)
    assert sum(task == "alerts.send_delivery" for task, _ in pool.begun) == 2


def test_imports_and_uploads_of_a_tenant_run_one_at_a_time_and_those_of_another_beside_them(
    pool: Pool,
) -> None:
    pool.send("costs.run_import", 1, 1, hangs=True)
    pool.send("ingestion.run_upload", 1, 2)
    pool.send("costs.run_import", 1, 3)
    pool.send("ingestion.run_upload", 2, 4)

    wait_until(lambda: len(pool.answers) == 1)
    assert sorted(pool.begun) == [("costs.run_import", (1, 1)), ("ingestion.run_upload", (2, 4))]
    pool.release.set()
    wait_until(lambda: len(pool.answers) == 4)
    assert [arguments[1] for _, arguments in pool.begun if arguments[0] == 1] == [1, 2, 3]


def test_a_message_covered_by_another_is_acknowledged_at_once(pool: Pool) -> None:
    pool.send("costs.run_import", 1, 1, hangs=True)
    wait_until(lambda: len(pool.begun) == 1)
    for _ in range(100):
        pool.send("costs.run_import", 1, 2)

    assert pool.answers == [NOTHING_DONE] * 99


def test_a_task_has_the_time_of_its_lane(pool: Pool) -> None:
    seconds: dict[str, float] = {}

    def target(task: str, *_: Any) -> tuple[bool, str, float]:
        seconds[task] = time_limit.end() - time.monotonic()
        return NOTHING_DONE

    for task in ("insights.find_anomalies", "lake.merge_usage", "costs.run_import"):
        pool.pool.on_apply(target, (task, "id", {}, "[[1], {}, {}]"), {}, pool.answers.append)

    wait_until(lambda: len(pool.answers) == 3)
    assert 590 < seconds["insights.find_anomalies"] <= 600
    assert 3590 < seconds["lake.merge_usage"] <= 3600
    assert seconds["costs.run_import"] == math.inf
