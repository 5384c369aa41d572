"""How many requests a credential may make in any 60 seconds: a moving window, exact across threads.

Counted in this process, or in Redis as soon as REDIS_URL says that there are several.
"""

from __future__ import annotations

import functools
import math
import time

from django.conf import settings
from limits import RateLimitItemPerMinute
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from accounts.credentials import Credential


@functools.cache
def _limiter() -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(storage_from_string(settings.REDIS_URL or "memory://"))


def seconds_to_wait(credential: Credential, *, requests: int = 1) -> int:
    """Counts the requests and gives 0, or counts nothing and gives the seconds until the next may come."""
    limit = RateLimitItemPerMinute(settings.MCP_RATE_LIMIT_PER_MINUTE)
    whose = ("mcp", credential.kind.value, str(credential.id))
    if _limiter().hit(limit, *whose, cost=requests):
        return 0
    reset = _limiter().get_window_stats(limit, *whose).reset_time
    return max(1, math.ceil(reset - time.time()))
