"""Django's cache in Redis, which while Redis is away is one of each process.

Sign-in counts its tries in it and a form that makes a key is marked as spent in it: neither is a reason to refuse
everybody. Each process then counts for itself, and what it counted is forgotten once Redis is back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis import RedisError

from finops.lib.outage import Outage

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

_outage = Outage("Redis", "each process counts and caches for itself")


def _either(name: str) -> Callable[..., Any]:
    in_redis = getattr(RedisCache, name)

    def operation(self: SharedCache, *args: Any, **options: Any) -> Any:
        if not _outage.lasts():
            try:
                with _outage.question():
                    return in_redis(self, *args, **options)
            except RedisError as error:
                _outage.begins(error)
        return getattr(self.alone, name)(*args, **options)

    return operation


class SharedCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        # One of the process: Django makes an object of this class for each thread.
        self.alone = LocMemCache("while Redis is away", {"OPTIONS": {"MAX_ENTRIES": 10_000}})


for _name in OPERATIONS:
    setattr(SharedCache, _name, _either(_name))
