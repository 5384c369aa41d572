"""When a connection is looked at next. Pure."""

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
    """After a sync that did not fail: the connection's own minute and second of each interval, which its id decides, so that
    connections made together do not fall due together. At least half an interval from now."""
    seconds = interval_minutes * 60
    own = int.from_bytes(sha256(str(connection_id).encode()).digest()[:8]) % seconds
    earliest = now.timestamp() + seconds / 2
    turns = -(-(earliest - own) // seconds)
    return datetime.fromtimestamp(turns * seconds + own, UTC)


def next_retry(
    interval_minutes: int, failures: int, now: datetime, *, retry_after: float | None = None
) -> datetime:
    """After so many failures in a row: the interval times 2^failures, give or take 20 % at random, and no sooner than the other side asked for
    (seconds); a day at most."""
    doubled = timedelta(minutes=interval_minutes << min(failures, _MAX_DOUBLINGS))
    wait = doubled * _random.uniform(1 - JITTER, 1 + JITTER)
    return now + min(max(wait, timedelta(seconds=min(retry_after or 0, 86_400))), LONGEST_BACK_OFF)
