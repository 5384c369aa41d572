"""Turns of tenants: the order in which a few threads run tasks, for any number of waiting tasks of each."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from finops.celery import app
from finops.worker.pool import FairQueue
from finops.worker.queues import LANE_OF, QUEUES, TASK_QUEUES
from tests.isolation.discovery import OUR_PREFIXES

PATIENCE = 20


class BlockingWork:
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

    def wait_for_starts(self, count: int) -> list[str]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, PATIENCE), self.begun
            return list(self.begun)

    def release(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()


@pytest.fixture
def one_thread() -> Iterator[BlockingWork]:
    work = BlockingWork(threads=1)
    yield work
    work.release()
    work.turns.close()


@pytest.fixture
def two_threads() -> Iterator[BlockingWork]:
    work = BlockingWork(threads=2)
    yield work
    work.release()
    work.turns.close()


def test_a_tenant_with_much_takes_one_thread_and_another_begins_at_once(two_threads: BlockingWork) -> None:
    for number in range(50):
        two_threads.add("a", f"a{number}")
    two_threads.wait_for_starts(1)
    two_threads.add("b", "b0")

    assert sorted(two_threads.wait_for_starts(2)) == ["a0", "b0"]
    two_threads.release()
    assert len(two_threads.wait_for_starts(51)) == 51


def test_tenants_take_turns_each_in_its_own_order(one_thread: BlockingWork) -> None:
    for name in ("a0", "a1", "a2", "b0", "b1", "c0"):
        one_thread.add(name[0], name)
    one_thread.release()

    assert one_thread.wait_for_starts(6) == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_a_waiting_task_is_not_queued_again_and_a_running_one_may_be(one_thread: BlockingWork) -> None:
    assert one_thread.add("a", "first")
    one_thread.wait_for_starts(1)
    # It runs: what came since is for another run.
    assert one_thread.add("a", "first")
    assert not one_thread.add("a", "first")
    one_thread.release()
    assert one_thread.wait_for_starts(2) == ["first", "first"]


def test_a_call_that_fails_leaves_its_thread_and_its_tenant_free(one_thread: BlockingWork) -> None:
    one_thread.turns.add("a", "broken", lambda: sys.exit(1))
    one_thread.add("a", "next")
    one_thread.release()

    assert one_thread.wait_for_starts(1) == ["next"]


def test_every_task_has_a_lane_and_every_lane_a_task() -> None:
    app.loader.import_default_modules()
    own_tasks = {name for name, task in app.tasks.items() if task.run.__module__.startswith(OUR_PREFIXES)}

    assert own_tasks == LANE_OF.keys()
    assert {lane.queue for lane in LANE_OF.values()} == set(QUEUES) == {queue.name for queue in TASK_QUEUES}
