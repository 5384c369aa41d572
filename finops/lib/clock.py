"""The current time, in one place, so that a test can set it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime

_frozen: ContextVar[datetime | None] = ContextVar("frozen_clock", default=None)


def now() -> datetime:
    return _frozen.get() or datetime.now(UTC)


def today() -> date:
    """Return today's date in UTC: every day of the product is a UTC day."""
    return now().date()


@contextmanager
def frozen(moment: datetime) -> Iterator[None]:
    """Set the time to `moment` (with its zone) inside the block, for this thread or task only."""
    token = _frozen.set(moment)
    try:
        yield
    finally:
        _frozen.reset(token)
