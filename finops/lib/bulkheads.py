"""Slots that clients share: the requests of each kind in a web process, the queries of the lake.

The bulkhead pattern (Nygard, Release It!): each kind of work has a fixed number of slots, so that one kind never takes the
threads of another. Work without a free slot waits. A slot goes to the client that used least slot time in the last minute, so
a client with a hundred requests, or with ten dear ones, delays another by one of them at most. With reserved slots it
does not even do that. A free slot costs 1.3 µs of processor time.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Final

MINUTE: Final = 60.0
PAUSE_SECONDS: Final = 0.25
"""Seconds after which a waiting request compares slot time again, for the reserved slots: others use more as time passes."""
MIN_CLIENTS: Final = 1_000
NEGLIGIBLE_SECONDS: Final = 0.001
"""Clients that used less slot time, weighted, are forgotten when there are many."""


class Busy(Exception):
    """No slot became free in time, or too many requests are waiting. Nothing of the request was processed."""


class Bulkhead:
    """`size` slots, of which one client holds at most `share` (default: two thirds).

    `reserved` of them are for clients that hold none, and that used at most half the slot time of the client that holds slots
    and used most. At most `waiting` requests wait, each for at most `seconds`; at most a quarter of them are of one client. If
    more come, the newest request of the waiting client that used most slot time is refused.
    """

    def __init__(
        self,
        name: str,
        *,
        size: int,
        share: int | None = None,
        reserved: int = 0,
        waiting: int = 128,
        seconds: float = 20.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.size = size
        self.share = share or max(1, -(-size * 2 // 3))
        self._open_to_all = size - reserved
        self._waiting, self._seconds, self._now = waiting, seconds, now
        self._lock = threading.Lock()
        self._running = 0
        self._use: dict[Hashable, _Use] = {}
        self._holders: set[Hashable] = set()
        self._queues: OrderedDict[Hashable, deque[_Turn]] = OrderedDict()
        self._queued = 0
        self._many_clients = MIN_CLIENTS

    def acquire(self, client: Hashable, seconds: float | None = None) -> None:
        """Take a slot, or wait for one, at most `seconds`. Raises Busy."""
        with self._lock:
            if not self._queued and self._may_take(use := self._use_of(client)):
                self._take(client, use)
                return
            ended = threading.Lock()
            ended.acquire()
            turn = self._join(client, ended.release)
        deadline = time.monotonic() + (self._seconds if seconds is None else seconds)
        while not ended.acquire(timeout=self._pause(deadline)):
            self._compare_again(client, turn, deadline)
        if turn.is_refused:
            raise Busy(self.name)

    async def acquire_in_loop(self, client: Hashable) -> None:
        """Take a slot as `acquire` does, without holding a thread while it waits. Raises Busy."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            if not self._queued and self._may_take(use := self._use_of(client)):
                self._take(client, use)
                return
            turn = self._join(client, lambda: loop.call_soon_threadsafe(ended.set))
        deadline = time.monotonic() + self._seconds
        try:
            while not ended.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause(deadline)):
                        await ended.wait()
                        break
                self._compare_again(client, turn, deadline)
        except asyncio.CancelledError:
            self._leave(client, turn)
            raise
        if turn.is_refused:
            raise Busy(self.name)

    def _pause(self, deadline: float) -> float:
        """Return the seconds to wait at most before the next comparison of slot time."""
        remaining = max(0.0, deadline - time.monotonic())
        return remaining if self._open_to_all == self.size else min(PAUSE_SECONDS, remaining)

    def _compare_again(self, client: Hashable, turn: _Turn, deadline: float) -> None:
        with self._lock:
            self._hand_on()
            if turn.is_waiting and time.monotonic() >= deadline:
                self._remove(client, turn)
                raise Busy(self.name)

    def _leave(self, client: Hashable, turn: _Turn) -> None:
        """Give up a turn, or the slot that it has got meanwhile."""
        with self._lock:
            if turn.is_waiting:
                self._remove(client, turn)
                return
        if not turn.is_refused:
            self.release(client)

    def release(self, client: Hashable) -> None:
        with self._lock:
            use = self._use_of(client)
            use.held -= 1
            self._running -= 1
            if not use.held:
                self._holders.discard(client)
            if self._queued:
                self._hand_on()

    @property
    def running(self) -> int:
        return self._running

    @property
    def queue_length(self) -> int:
        return self._queued

    # -- with the lock held -----------------------------------------------------------------------------------

    def _use_of(self, client: Hashable) -> _Use:
        """Return the client's use until now."""
        now = self._now()
        use = self._use.get(client)
        if use is None:
            if len(self._use) >= self._many_clients:
                self._forget_clients(now)
            use = self._use[client] = _Use(now)
        use.advance(now)
        return use

    def _forget_clients(self, now: float) -> None:
        for client, use in list(self._use.items()):
            use.advance(now)
            if not use.held and use.seconds < NEGLIGIBLE_SECONDS:
                del self._use[client]
        self._many_clients = max(MIN_CLIENTS, 2 * len(self._use))

    def _may_take(self, use: _Use) -> bool:
        if use.held >= self.share or self._running >= self.size:
            return False
        return self._running < self._open_to_all or (not use.held and self._is_quiet(use))

    def _is_quiet(self, use: _Use) -> bool:
        return use.seconds <= max((self._use_of(each).seconds for each in self._holders), default=0) / 2

    def _take(self, client: Hashable, use: _Use) -> None:
        self._running += 1
        use.held += 1
        self._holders.add(client)

    def _join(self, client: Hashable, end: Callable[[], object]) -> _Turn:
        queue = self._queues.get(client)
        if queue is not None and len(queue) >= self._waiting // 4:
            raise Busy(self.name)
        if self._queued >= self._waiting:
            self._refuse_dearest(client)
        turn = _Turn(end)
        self._queues.setdefault(client, deque()).append(turn)
        self._queued += 1
        # A client at its share waits even if slots are free; clients behind it must not wait for that.
        self._hand_on()
        return turn

    def _refuse_dearest(self, newcomer: Hashable) -> None:
        dearest = max(self._queues, key=lambda each: self._use_of(each).seconds)
        if self._use_of(dearest).seconds <= self._use_of(newcomer).seconds:
            raise Busy(self.name)
        turn = self._queues[dearest][-1]
        self._remove(dearest, turn)
        turn.is_refused = True
        turn.end()

    def _hand_on(self) -> None:
        """Assign free slots to waiting clients, first to those that used least slot time; among equals in turn."""
        while self._running < self.size:
            uses = ((each, self._use_of(each)) for each in self._queues)
            candidates = [(client, use) for client, use in uses if self._may_take(use)]
            if not candidates:
                return
            client, use = min(candidates, key=lambda each: each[1].seconds)
            turn = self._queues[client][0]
            self._remove(client, turn)
            self._take(client, use)
            if client in self._queues:
                self._queues.move_to_end(client)
            turn.end()

    def _remove(self, client: Hashable, turn: _Turn) -> None:
        queue = self._queues[client]
        queue.remove(turn)
        turn.is_waiting = False
        self._queued -= 1
        if not queue:
            del self._queues[client]


class _Use:
    """The slots that a client holds, and the slot seconds that it used: of about a minute, since older ones fade."""

    __slots__ = ("_as_of", "held", "seconds")

    def __init__(self, now: float) -> None:
        self.held, self.seconds, self._as_of = 0, 0.0, now

    def advance(self, now: float) -> None:
        if now <= self._as_of:
            return
        fading = math.exp((self._as_of - now) / MINUTE)
        self.seconds = self.seconds * fading + self.held * MINUTE * (1 - fading)
        self._as_of = now


class _Turn:
    """A waiting request. `end` is called once it has a slot or is refused."""

    __slots__ = ("end", "is_refused", "is_waiting")

    def __init__(self, end: Callable[[], object]) -> None:
        self.end = end
        self.is_waiting, self.is_refused = True, False
