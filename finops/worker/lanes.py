"""Turns of a lane: one call at a time a tenant, tenants one after the other, none waiting twice.

What waits is bounded by what there is to do: a call that waits already is not added again, since the database says to
whichever runs what is due.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Call:
    key: Hashable
    run: Callable[[], None]


class FairQueue:
    """A few threads and the calls that wait for them, by tenant. Adding and taking cost O(tenants that wait)."""

    def __init__(self, name: str, threads: int) -> None:
        self._changed: Final = threading.Condition()
        # In the order of their turn: who was served goes to the end.
        self._waiting: dict[Hashable, deque[_Call]] = {}
        self._busy: set[Hashable] = set()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def add(self, tenant: Hashable, key: Hashable, run: Callable[[], None]) -> bool:
        """Run `run` when it is `tenant`'s turn. False, and nothing is done, when a call of this key waits already."""
        with self._changed:
            line = self._waiting.setdefault(tenant, deque())
            if any(call.key == key for call in line):
                return False
            line.append(_Call(key, run))
            self._changed.notify()
        return True

    def close(self) -> None:
        """Wait for what runs; what waits is dropped, since beat asks again."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
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
                tenant = next((one for one in self._waiting if one not in self._busy), None)
                if tenant is not None:
                    line = self._waiting.pop(tenant)
                    call = line.popleft()
                    if line:
                        self._waiting[tenant] = line
                    self._busy.add(tenant)
                    return tenant, call
                self._changed.wait()
