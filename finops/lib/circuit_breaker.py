"""A dependency that is away is asked once in a while, and not by everybody: each would wait for its patience."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

RESET_TIMEOUT_SECONDS = 5.0
SLOW_SECONDS = 0.25
"""While somebody waits for so long already, nobody else begins to: a dependency that hangs holds the few who came first."""


class CircuitBreaker:
    """Whether `what` was away a moment ago, or hangs now. Threads may share it: the worst that a race does is one question
    more. Cost: 1 µs a question."""

    def __init__(self, what: str, meanwhile: str) -> None:
        self._what, self._meanwhile = what, meanwhile
        self._until = 0.0
        self._lock = threading.Lock()
        self._pending_calls: dict[object, float] = {}

    def is_open(self) -> bool:
        now = time.monotonic()
        return now < self._until or now - self._oldest(now) > SLOW_SECONDS

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around what waits for an answer."""
        token = object()
        with self._lock:
            self._pending_calls[token] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._pending_calls[token]

    def record_failure(self, error: Exception) -> None:
        log.warning("%s does not answer (%s); %s", self._what, error, self._meanwhile)
        self._until = time.monotonic() + RESET_TIMEOUT_SECONDS

    def _oldest(self, now: float) -> float:
        with self._lock:
            return next(iter(self._pending_calls.values()), now)
