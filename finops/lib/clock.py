"""What time it is, in one place, so that a test can say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime

_frozen: ContextVar[datetime | None] = ContextVar("frozen_clock", default=None)


def now() -> datetime:
    return _frozen.get() or datetime.now(UTC)


def today() -> date:
    """The day in UTC: every day of the product is a UTC day."""
    return now().date()


@contextmanager
def frozen(moment: datetime) -> Iterator[None]:
    """Inside, the time is `moment` (with its zone). Seen by this thread or task alone."""
    token = _frozen.set(moment)
    try:
        yield
    finally:
        _frozen.reset(token)
