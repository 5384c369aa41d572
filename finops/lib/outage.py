"""A dependency that is away is asked once in a while, and not by everybody: each would wait for its patience."""

from __future__ import annotations

import logging
import time

log = logging.getLogger(__name__)

AGAIN_AFTER_SECONDS = 5.0


class Outage:
    """Whether `what` was away a moment ago. Threads may share it: the worst that a race does is one question more."""

    def __init__(self, what: str, meanwhile: str) -> None:
        self._what, self._meanwhile = what, meanwhile
        self._until = 0.0

    def lasts(self) -> bool:
        return time.monotonic() < self._until

    def begins(self, error: Exception) -> None:
        log.warning("%s does not answer (%s); %s", self._what, error, self._meanwhile)
        self._until = time.monotonic() + AGAIN_AFTER_SECONDS
