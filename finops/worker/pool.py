"""Celery's pool of a worker program: each lane has threads of its own, and in a lane tenants take turns.

Celery's threads pool runs messages in the order they came, so twenty deliveries to receivers that hang, or a tenant
with many jobs, hold every thread. Its time limits and `revoke` do nothing with threads (nor here): a task looks at its
lane's limit (`finops.lib.time_limit`), imports and uploads at their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from typing import Any, Final

from celery.concurrency.base import BasePool, apply_target

from finops.lib.time_limit import limit_time
from finops.worker.lanes import FairQueue
from finops.worker.queues import LANE_OF, MAINTENANCE, Lane

NOTHING_DONE: Final = (False, "null", 0.0)
"""What Celery is given for a message that another one stands for: no failure, no value, no time."""


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
    """A task of an account takes its id first (`tests/isolation/test_tasks.py`); one that takes none is nobody's."""
    return arguments[0] if arguments else task
