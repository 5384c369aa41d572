"""Telling a dependency that is away from a fault of ours: the one is 503 and worth another try, the other 500."""

from __future__ import annotations

from typing import Final

from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout
from redis import RedisError

RETRY_SECONDS: Final = 5

_UNAVAILABLE_ERRORS: Final = (OperationalError, InterfaceError, PoolTimeout, RedisError)


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database or Redis could not be reached, went away meanwhile, or has no room (a full disk)."""
    while error is not None:
        if isinstance(error, _UNAVAILABLE_ERRORS):
            return True
        error = error.__cause__
    return False
