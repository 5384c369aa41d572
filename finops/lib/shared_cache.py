"""Django's cache in Redis, with a cache in each process as the fallback while Redis is unavailable.

Sign-in attempts are counted in it, and a form that creates a key is marked there as used: neither is a reason to refuse
everybody. Each process then counts separately, and its counts are dropped once Redis is back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis import RedisError

from finops.lib.circuit_breaker import CircuitBreaker

OPERATIONS: Final = (
    *(
        "add",
        "get",
        "set",
        "touch",
        "delete",
        "has_key",
        "incr",
        "get_many",
        "set_many",
        "delete_many",
        "clear",
    ),
)

_breaker = CircuitBreaker("Redis", "each process counts and caches for itself")


def _with_fallback(name: str) -> Callable[..., Any]:
    in_redis = getattr(RedisCache, name)

    def operation(self: SharedCache, *args: Any, **options: Any) -> Any:
        if not _breaker.is_open():
            try:
                with _breaker.call():
                    return in_redis(self, *args, **options)
            except RedisError as error:
                _breaker.record_failure(error)
        return getattr(self.fallback, name)(*args, **options)

    return operation


class SharedCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        # Shared in the process, because Django creates an object of this class for each thread.
        self.fallback = LocMemCache("while Redis is away", {"OPTIONS": {"MAX_ENTRIES": 10_000}})


for _name in OPERATIONS:
    setattr(SharedCache, _name, _with_fallback(_name))
