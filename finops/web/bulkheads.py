"""Limits of concurrent requests of each kind, so that one kind never takes the threads of another.

The bulkhead pattern (Nygard, Release It!): each kind of request has a fixed number of slots. A request without a
free slot waits in the queue of its client. Slots go to the clients in turn, so a client with a hundred requests
delays another client by one of them, not by a hundred. Acquiring a free slot costs about a microsecond.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque


class Busy(Exception):
    """No slot became free in time, or too many requests are waiting. Nothing of the request was processed."""


class Bulkhead:
    """`size` slots. At most `waiting` requests wait, each for at most `seconds`; at most a quarter of them are of
    one client."""

    def __init__(self, name: str, *, size: int, waiting: int = 128, seconds: float = 20.0) -> None:
        self.name = name
        self.size = size
        self.share = max(1, -(-size * 2 // 3))
        self._waiting, self._seconds = waiting, seconds
        self._lock = threading.Lock()
        self._free = size
        self._running: dict[str, int] = {}
        self._queues: OrderedDict[str, deque[threading.Lock]] = OrderedDict()
        self._queued = 0

    def acquire(self, client: str) -> None:
        """Take a slot, or wait for one. Raises Busy."""
        with self._lock:
            if self._free and not self._queued and self._running.get(client, 0) < self.share:
                self._take(client)
                return
            turn = self._join(client)
        if turn.acquire(timeout=self._seconds):
            return
        with self._lock:
            queue = self._queues.get(client)
            if queue is None or turn not in queue:
                return  # another thread assigned the slot meanwhile
            self._remove(client, turn)
        raise Busy(self.name)

    def release(self, client: str) -> None:
        with self._lock:
            self._free += 1
            remaining = self._running.pop(client) - 1
            if remaining:
                self._running[client] = remaining
            if self._queued:
                self._hand_on()

    @property
    def running(self) -> int:
        return self.size - self._free

    @property
    def queue_length(self) -> int:
        return self._queued

    # -- with the lock held -----------------------------------------------------------------------------------

    def _take(self, client: str) -> None:
        self._free -= 1
        self._running[client] = self._running.get(client, 0) + 1

    def _join(self, client: str) -> threading.Lock:
        queue = self._queues.get(client)
        if self._queued >= self._waiting or (queue is not None and len(queue) >= self._waiting // 4):
            raise Busy(self.name)
        turn = threading.Lock()
        turn.acquire()
        self._queues.setdefault(client, deque()).append(turn)
        self._queued += 1
        # A client at its share waits even if slots are free; clients behind it must not wait for that.
        self._hand_on()
        return turn

    def _hand_on(self) -> None:
        """Assign free slots to waiting clients in turn, to each client at most its share."""
        for client in list(self._queues):
            if not self._free:
                return
            if self._running.get(client, 0) >= self.share:
                continue
            turn = self._queues[client][0]
            self._remove(client, turn)
            self._take(client)
            if client in self._queues:
                self._queues.move_to_end(client)
            turn.release()

    def _remove(self, client: str, turn: threading.Lock) -> None:
        queue = self._queues[client]
        queue.remove(turn)
        self._queued -= 1
        if not queue:
            del self._queues[client]
