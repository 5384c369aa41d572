"""Celery's pool of a worker program: each lane has threads of its own, and in a lane tenants take turns.

Celery's threads pool runs messages in order of arrival, so twenty deliveries to receivers that hang, or a tenant with many
jobs, hold every thread. Its time limits and `revoke` have no effect on threads (nor here): a task checks its lane's limit
(`finops.lib.time_limit`), imports and uploads check their own.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from celery.concurrency.base import BasePool, apply_target

from finops.lib import memory
from finops.lib.call_stack import in_one_chunk
from finops.lib.telemetry import metrics
from finops.lib.time_limit import limit_time
from finops.worker.queues import LANE_OF, MAINTENANCE, Lane

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Call:
    key: Hashable
    run: Callable[[], None]
    added_at: float = field(default_factory=time.monotonic)


class FairQueue:
    """A few threads and the calls that wait for them, by tenant. Adding and taking cost O(waiting tenants)."""

    def __init__(self, name: str, threads: int) -> None:
        self._changed: Final = threading.Condition()
        # In the order of their turn: a tenant that was served moves to the end.
        self._waiting: dict[Hashable, deque[_Call]] = {}
        self._busy: set[Hashable] = set()
        self._name, self._length = name, 0
        self._closed = False
        self._threads = [
            threading.Thread(target=in_one_chunk(self._work), name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def add(self, tenant: Hashable, key: Hashable, run: Callable[[], None]) -> bool:
        """Queue `run` for `tenant`'s next turn. Returns False, without queueing, when a call of this key waits already."""
        with self._changed:
            line = self._waiting.setdefault(tenant, deque())
            if any(call.key == key for call in line):
                return False
            line.append(_Call(key, run))
            self._resize(self._length + 1)
            self._changed.notify()
        return True

    def close(self) -> None:
        """Wait for running calls; waiting ones are dropped, since beat sends them again."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._resize(0)
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (turn := self._next()) is not None:
            tenant, call = turn
            try:
                call.run()
            except BaseException:
                # The thread is one of few, so it outlives whatever a task does.
                logger.exception("worker: a task broke out of its own handling")
            finally:
                with self._changed:
                    self._busy.discard(tenant)
                    self._changed.notify()

    def _next(self) -> tuple[Hashable, _Call] | None:
        with self._changed:
            while True:
                if self._closed:
                    return None
                tenant = next((each for each in self._waiting if each not in self._busy), None)
                if tenant is not None:
                    line = self._waiting.pop(tenant)
                    call = line.popleft()
                    if line:
                        self._waiting[tenant] = line
                    self._busy.add(tenant)
                    self._resize(self._length - 1)
                    metrics.LANE_WAIT.observe(time.monotonic() - call.added_at, self._name)
                    return tenant, call
                self._changed.wait()

    def _resize(self, length: int) -> None:
        self._length = length
        metrics.LANE_WAITING.set(length, self._name)


NOTHING_DONE: Final = (False, "null", 0.0)
"""Celery's result for a message whose work another message does: no failure, no value, no time."""


class LanePool(BasePool):
    body_can_be_buffer = True
    signal_safe = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._queues: dict[Lane, FairQueue] = {}

    def on_apply(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        callback: Callable[..., Any] | None = None,
        accept_callback: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        task, body = args[0], args[3]
        lane = LANE_OF.get(task, MAINTENANCE)
        if lane not in self._queues:
            # Celery's consumer calls this from one thread.
            self._queues[lane] = FairQueue(lane.name, lane.threads)
        arguments = _arguments(body)

        def run() -> None:
            with limit_time(lane.seconds):
                apply_target(target, args, kwargs, callback, accept_callback)
            memory.return_memory_of_thread()

        is_new = self._queues[lane].add(_tenant(task, arguments), (task, *arguments), run)
        if not is_new and callback is not None:
            callback(NOTHING_DONE)

    def on_stop(self) -> None:
        for turns in self._queues.values():
            turns.close()
        super().on_stop()


def _arguments(body: Any) -> tuple[Hashable, ...]:
    positional = (json.loads(body) if isinstance(body, str | bytes | bytearray) else body)[0]
    return tuple(positional)


def _tenant(task: str, arguments: tuple[Hashable, ...]) -> Hashable:
    """The account id of a task, its first argument (`tests/isolation/test_tasks.py`); a task without one has no tenant."""
    return arguments[0] if arguments else task
