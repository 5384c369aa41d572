"""Tells an unavailable dependency from a bug: the first is a 503 and worth a retry, the second a 500."""

from __future__ import annotations

from typing import Final

from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout
from redis import RedisError

RETRY_SECONDS: Final = 5

_UNAVAILABLE_ERRORS: Final = (OperationalError, InterfaceError, PoolTimeout, RedisError)


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database or Redis could not be reached, disconnected meanwhile, or has no space (a full disk)."""
    while error is not None:
        if isinstance(error, _UNAVAILABLE_ERRORS):
            return True
        error = error.__cause__
    return False
