"""Moving-window rate limits: never more than `limit` in any period of `seconds`. For limits that the interface promises:
pushes of an account, requests of an MCP credential. `finops.lib.fixed_window` limits what need not be exact.

Counted in this process, or in Redis when REDIS_URL says that there are several. The library `limits` does the counting in
Redis. Its memory storage is not used: it starts a timer thread on nearly every hit (measured at 3 ms a request on a busy
machine) and may drop a key's lock while a thread waits for it, so it is not exact.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections import defaultdict, deque
from typing import Protocol

from django.conf import settings
from limits import RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter
from redis import RedisError

from finops.lib.circuit_breaker import CircuitBreaker
from finops.lib.redis_urls import limits_url

CLEANUP_SECONDS = 30.0


@dataclasses.dataclass(frozen=True)
class Hit:
    """The result of one hit. `wait`: whole seconds until the next hit is allowed, 0 when this one is. `reset`: whole
    seconds until the oldest counted hit expires, so that `remaining` grows again."""

    remaining: int
    wait: int = 0
    reset: int = 0

    @property
    def is_allowed(self) -> bool:
        return self.wait == 0


class RateLimiter(Protocol):
    def hit(self, key: str, *, limit: int, seconds: int = 60, cost: int = 1) -> Hit:
        """Count `cost` in the window of `key`; count nothing when that would exceed the limit."""
        ...


class ProcessRateLimiter:
    """A rate limiter that is exact across the threads of one process. Stores at most `limit` times for each key, and no key
    for long: some keys are addresses, and one client may have many."""

    def __init__(self) -> None:
        self._times: defaultdict[str, deque[float]] = defaultdict(deque)
        self._empty_at: dict[str, float] = {}
        self._next_cleanup = 0.0
        self._lock = threading.Lock()

    def hit(self, key: str, *, limit: int, seconds: int = 60, cost: int = 1) -> Hit:
        with self._lock:
            now = time.monotonic()
            self._clear(now)
            self._empty_at[key] = max(self._empty_at.get(key, 0.0), now + seconds)
            times = self._times[key]
            while times and times[0] <= now - seconds:
                times.popleft()
            free = limit - len(times)
            if cost <= free:
                times.extend([now] * cost)
                return Hit(free - cost, reset=_until(times[0] + seconds, now) if times else 0)
            must_go = min(cost - free, len(times))
            until = times[must_go - 1] + seconds if must_go else now + seconds
            wait = _until(until, now)
            return Hit(max(free, 0), wait, _until(times[0] + seconds, now) if times else wait)

    def _clear(self, now: float) -> None:
        """Remove keys whose windows have ended, once in a while: a microsecond for each key there is."""
        if now < self._next_cleanup:
            return
        self._next_cleanup = now + CLEANUP_SECONDS
        for key in [key for key, moment in self._empty_at.items() if moment <= now]:
            del self._times[key], self._empty_at[key]


class RedisRateLimiter:
    """A rate limiter that is exact across processes: the window is in Redis. While Redis is unavailable each process counts
    separately, because requests should not fail for a limit."""

    def __init__(self, url: str) -> None:
        self._limiter = MovingWindowRateLimiter(
            storage_from_string(limits_url(url), **settings.REDIS_OPTIONS)
        )
        self._fallback = ProcessRateLimiter()
        self._breaker = CircuitBreaker("Redis", "this process counts rate limits for itself")

    def hit(self, key: str, *, limit: int, seconds: int = 60, cost: int = 1) -> Hit:
        if not self._breaker.is_open():
            try:
                with self._breaker.call():
                    return self._hit_redis(key, RateLimitItemPerSecond(limit, seconds), cost)
            except RedisError as error:
                self._breaker.record_failure(error)
        return self._fallback.hit(key, limit=limit, seconds=seconds, cost=cost)

    def _hit_redis(self, key: str, item: RateLimitItemPerSecond, cost: int) -> Hit:
        allowed = self._limiter.hit(item, key, cost=cost)
        window = self._limiter.get_window_stats(item, key)
        reset = _until(window.reset_time, time.time())
        return Hit(window.remaining, 0 if allowed else reset, reset)


def _until(moment: float, now: float) -> int:
    # Rounded first: (now + 60) - now may be a little more than 60.
    return max(1, math.ceil(round(moment - now, 6)))


class _LazyRateLimiter:
    """A rate limiter that its first caller creates while the others wait: two would count separately, and `limits` loads
    its Redis client in a way that fails for the second of two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limiter: RateLimiter | None = None

    def __call__(self) -> RateLimiter:
        with self._lock:
            if self._limiter is None:
                self._limiter = (
                    RedisRateLimiter(settings.REDIS_URL) if settings.REDIS_URL else ProcessRateLimiter()
                )
            return self._limiter

    def cache_clear(self) -> None:
        """Remove the limiters and their counts; for tests."""
        self._limiter = None


rate_limiter = _LazyRateLimiter()
"""The rate limiter of this installation."""
