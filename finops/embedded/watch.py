"""Keeps the embedded server running: it is restarted when it ends, for as long as the supervisor lives."""

from __future__ import annotations

import time
from collections.abc import Callable

from finops.embedded.cluster import Cluster
from finops.supervisor import Backoff

LONGEST_WAIT_SECONDS = 10.0
"""A failed start costs little, and the server should return soon after disk space is freed."""


class ServerWatch:
    """Watches the server without waiting: crash recovery sometimes takes minutes, and programs must be watched meanwhile."""

    def __init__(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        self._cluster, self._say = cluster, say
        self._backoff = Backoff(LONGEST_WAIT_SECONDS)
        self._started = time.monotonic()
        self._start_after = 0.0
        self._is_silent = False

    def check(self) -> None:
        now, process = time.monotonic(), self._cluster.process
        if process is None:
            if now >= self._start_after:
                self._launch(now)
        elif (code := process.poll()) is not None:
            self._cluster.process = None
            self._wait(now, f"ended with code {code}")
        elif self._is_silent and self._cluster.answers():
            self._is_silent = False
            self._say("PostgreSQL answers again.")

    def _launch(self, now: float) -> None:
        self._started, self._is_silent = now, True
        try:
            self._cluster.launch()
        except OSError as error:
            self._wait(now, f"cannot be started ({error})")

    def _wait(self, now: float, problem: str) -> None:
        wait = self._backoff.wait(now - self._started)
        self._start_after = now + wait
        when = f"in {wait:.0f} s" if wait else "now"
        self._say(f"PostgreSQL {problem}; starting it again {when} (its log: {self._cluster.log}).")
