"""Turns: requests that compute in Python run one after the other instead of at the same time.

Threads that compete for the interpreter's lock need a third more processor time for the same pushes
(docs/adr/0120-pushes-of-a-web-process-take-turns.md).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Final

_MIN_WAIT: Final = 0.001
_thread = threading.local()


class Turns:
    """One turn at a time, in the order of arrival.

    A turn ends with its request, or earlier with `end_turn`. After `seconds` the next request begins anyway, so that a
    request that waits for a row of the database holds up the others once, by so much.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._holder: Turn | None = None
        self._ends_at = 0.0
        self._waiting: deque[Turn] = deque()

    def begin(self) -> Turn:
        """Wait for this thread's turn."""
        turn = Turn(self)
        with self._lock:
            if self._holder is None:
                self._pass_to(turn)
            else:
                turn.lock.acquire()
                self._waiting.append(turn)
        if self._holder is not turn:
            self._wait(turn)
        _thread.turn = turn
        return turn

    def end(self, turn: Turn) -> None:
        """End a turn; does nothing if it has ended."""
        with self._lock:
            if self._holder is not turn:
                return
            self._holder = None
            if self._waiting:
                self._pass_to(self._waiting.popleft())

    def _wait(self, turn: Turn) -> None:
        while not turn.lock.acquire(timeout=max(_MIN_WAIT, self._ends_at - time.monotonic())):
            with self._lock:
                is_next = bool(self._waiting) and self._waiting[0] is turn
                if is_next and time.monotonic() >= self._ends_at:
                    self._pass_to(self._waiting.popleft())

    def _pass_to(self, turn: Turn) -> None:
        self._holder, self._ends_at = turn, time.monotonic() + self._seconds
        if turn.lock.locked():
            turn.lock.release()


class Turn:
    """The turn of a request. Use as a context manager."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.lock = threading.Lock()
        """Locked while the request waits."""

    def __enter__(self) -> Turn:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._turns.end(self)
        _thread.turn = None

    def end(self) -> None:
        self._turns.end(self)


def end_turn() -> None:
    """End the turn of this thread's request, if it has one: what follows waits for the disk or the network."""
    turn: Turn | None = getattr(_thread, "turn", None)
    if turn is not None:
        turn.end()
