"""A dependency that is away is asked once in a while, and not by everybody: each would wait for its patience."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

AGAIN_AFTER_SECONDS = 5.0
SLOW_SECONDS = 0.25
"""While somebody waits for so long already, nobody else begins to: a dependency that hangs holds the few who came first."""


class Outage:
    """Whether `what` was away a moment ago, or hangs now. Threads may share it: the worst that a race does is one question
    more. Cost: 1 µs a question."""

    def __init__(self, what: str, meanwhile: str) -> None:
        self._what, self._meanwhile = what, meanwhile
        self._until = 0.0
        self._lock = threading.Lock()
        self._questions: dict[object, float] = {}

    def lasts(self) -> bool:
        now = time.monotonic()
        return now < self._until or now - self._oldest(now) > SLOW_SECONDS

    @contextmanager
    def question(self) -> Iterator[None]:
        """Around what waits for an answer."""
        token = object()
        with self._lock:
            self._questions[token] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._questions[token]

    def begins(self, error: Exception) -> None:
        log.warning("%s does not answer (%s); %s", self._what, error, self._meanwhile)
        self._until = time.monotonic() + AGAIN_AFTER_SECONDS

    def _oldest(self, now: float) -> float:
        with self._lock:
            return next(iter(self._questions.values()), now)
