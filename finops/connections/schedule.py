"""The time of a connection's next sync. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from random import SystemRandom
from typing import Final

LONGEST_BACK_OFF: Final = timedelta(days=1)
JITTER: Final = 0.2
_MAX_DOUBLINGS: Final = 12

_random = SystemRandom()


def next_sync(connection_id: int, interval_minutes: int, now: datetime) -> datetime:
    """Return the time of the next sync after one that did not fail, at least half an interval from now. Each connection has its own
    minute and second of the interval, derived from its ID, so that connections created together are not due together."""
    seconds = interval_minutes * 60
    own = int.from_bytes(sha256(str(connection_id).encode()).digest()[:8]) % seconds
    earliest = now.timestamp() + seconds / 2
    turns = -(-(earliest - own) // seconds)
    return datetime.fromtimestamp(turns * seconds + own, UTC)


def next_retry(
    interval_minutes: int, failures: int, now: datetime, *, retry_after: float | None = None
) -> datetime:
    """Return the time of the next attempt after this many consecutive failures: the interval times 2^failures, ± 20 %
    at random, at least the delay that the provider requested (seconds), at most a day."""
    doubled = timedelta(minutes=interval_minutes << min(failures, _MAX_DOUBLINGS))
    wait = doubled * _random.uniform(1 - JITTER, 1 + JITTER)
    return now + min(max(wait, timedelta(seconds=min(retry_after or 0, 86_400))), LONGEST_BACK_OFF)
