"""Turns of tenants: what a few threads do, in which order, whoever has how much waiting."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from finops.celery import app
from finops.worker.pool import FairQueue
from finops.worker.queues import LANE_OF, QUEUES, TASK_QUEUES
from tests.isolation.walk import OUR_PREFIXES

PATIENCE = 20


class Work:
    """Calls that wait until they are let go, and the order in which they began."""

    def __init__(self, threads: int) -> None:
        self.turns = FairQueue("test", threads)
        self.begun: list[str] = []
        self.together: dict[str, int] = {}
        self._changed = threading.Condition()
        self._open = False

    def add(self, tenant: str, name: str) -> bool:
        return self.turns.add(tenant, name, lambda: self._do(tenant, name))

    def _do(self, tenant: str, name: str) -> None:
        with self._changed:
            self.begun.append(name)
            self.together[tenant] = self.together.get(tenant, 0) + 1
            assert self.together[tenant] == 1, f"two of {tenant} at once"
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._open, PATIENCE)
            self.together[tenant] -= 1

    def until(self, count: int) -> list[str]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, PATIENCE), self.begun
            return list(self.begun)

    def let_go(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()


@pytest.fixture
def one() -> Iterator[Work]:
    work = Work(threads=1)
    yield work
    work.let_go()
    work.turns.close()


@pytest.fixture
def two() -> Iterator[Work]:
    work = Work(threads=2)
    yield work
    work.let_go()
    work.turns.close()


def test_a_tenant_with_much_takes_one_thread_and_another_begins_at_once(two: Work) -> None:
    for number in range(50):
        two.add("a", f"a{number}")
    two.until(1)
    two.add("b", "b0")

    assert sorted(two.until(2)) == ["a0", "b0"]
    two.let_go()
    assert len(two.until(51)) == 51


def test_tenants_take_turns_each_in_its_own_order(one: Work) -> None:
    for name in ("a0", "a1", "a2", "b0", "b1", "c0"):
        one.add(name[0], name)
    one.let_go()

    assert one.until(6) == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_what_waits_already_is_not_added_and_what_runs_may_be(one: Work) -> None:
    assert one.add("a", "first")
    one.until(1)
    # It runs: what came since is for another run.
    assert one.add("a", "first")
    assert not one.add("a", "first")
    one.let_go()
    assert one.until(2) == ["first", "first"]


def test_a_call_that_fails_leaves_its_thread_and_its_tenant_free(one: Work) -> None:
    one.turns.add("a", "broken", lambda: sys.exit(1))
    one.add("a", "next")
    one.let_go()

    assert one.until(1) == ["next"]


def test_every_task_has_a_lane_and_every_lane_a_task() -> None:
    app.loader.import_default_modules()
    own_tasks = {name for name, task in app.tasks.items() if task.run.__module__.startswith(OUR_PREFIXES)}

    assert own_tasks == LANE_OF.keys()
    assert {lane.queue for lane in LANE_OF.values()} == set(QUEUES) == {queue.name for queue in TASK_QUEUES}
