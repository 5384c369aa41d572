"""Interrupts statements at their deadline, with one thread for all of them: starting one for each query costs more
than a small query on a busy machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Interruptible(Protocol):
    def interrupt(self) -> None: ...


class Watchdog:
    """Calls `interrupt` of each watched statement when its deadline (`time.monotonic()`) passes."""

    def __init__(self) -> None:
        self._statements: dict[int, tuple[float, Interruptible]] = {}
        self._changed = threading.Condition()
        self._wakes_at = float("inf")
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self, statement: Interruptible, deadline: float) -> Iterator[None]:
        """Interrupt `statement` if the block lasts past its deadline, and never after the block has ended."""
        with self._changed:
            self._statements[id(statement)] = (deadline, statement)
            self._ensure_thread()
            if deadline < self._wakes_at:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                del self._statements[id(statement)]

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="lake-watchdog", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for deadline, statement in self._statements.values():
                    if deadline <= now:
                        statement.interrupt()
                self._wakes_at = min(
                    (self._next(entry[0], now) for entry in self._statements.values()), default=float("inf")
                )
                self._changed.wait(None if self._wakes_at == float("inf") else self._wakes_at - now)

    @staticmethod
    def _next(deadline: float, now: float) -> float:
        """Interrupt again until the block ends: an interrupt just before the statement begins is lost."""
        return deadline if deadline > now else now + 0.05
