"""Fixed-window rate limits, counted by django-ratelimit in Django's cache: for limits that protect this server, where up to
twice the limit around the end of a window does no harm (registration, tokens, sign-up, password reset, uploads, exports,
tests).

`finops.lib.ratelimit` has exact moving windows, for limits that the interface promises. Several processes share the
counters through Redis, as they share the cache. A full cache, or an unavailable Redis, loses counters.
"""

from __future__ import annotations

from typing import Any

from django_ratelimit.core import get_usage


def seconds_to_wait(group: str, key: str, *, limit: int, seconds: int = 60) -> int:
    """Count one request of `key` in the current window of `group`. Returns 0 for the first `limit` requests of a window;
    for later ones the seconds until it ends, at least 1. Each key's windows end at a time of their own."""
    usage = _usage(group, key, limit, seconds, increment=True)
    return max(1, usage["time_left"]) if usage and usage["should_limit"] else 0


def seconds_until_free(group: str, key: str, *, limit: int, seconds: int = 60) -> int:
    """Return what `seconds_to_wait` with the same arguments would return, and count nothing."""
    usage = _usage(group, key, limit, seconds, increment=False)
    return max(1, usage["time_left"]) if usage and usage["count"] >= limit else 0


def _usage(group: str, key: str, limit: int, seconds: int, *, increment: bool) -> Any:
    return get_usage(
        None, group=group, key=lambda _group, _request: key, rate=(limit, seconds), increment=increment
    )
