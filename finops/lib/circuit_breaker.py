"""Circuit breakers: few callers retry an unavailable dependency, once in a while, so the others do not wait for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

RESET_TIMEOUT_SECONDS = 5.0
SLOW_SECONDS = 0.25
"""When one caller has waited this many seconds, no other begins a call: a dependency that hangs blocks only the first few
callers."""


class CircuitBreaker:
    """A breaker for the dependency `what`: open when a call failed a moment ago or hangs now. Threads may share it; a race
    costs at most one call more. Cost: 1 µs a check."""

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
        """Context manager around a call of the dependency."""
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
