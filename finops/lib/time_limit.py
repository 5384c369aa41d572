"""How long a task may take, whatever it does: the worker says it of a lane, and what takes long looks at it.

A thread cannot be ended from outside. Each statement of the lake is interrupted at the end of its task, and what runs many
of them, or much Python, calls `check` between two.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from finops.lib.errors import UserError


class TimeLimitError(UserError):
    """The task has taken as long as it may."""


TOO_LONG: Final = "This took too long and was stopped. It will be retried."


class _Limit(threading.local):
    end = math.inf
    message = TOO_LONG


_limit = _Limit()


@contextmanager
def limit_time(seconds: float, message: str = TOO_LONG) -> Iterator[None]:
    """What this thread does in the block may take so many seconds. `message` is the error's."""
    before = _limit.end, _limit.message
    _limit.end, _limit.message = min(before[0], time.monotonic() + seconds), message
    try:
        yield
    finally:
        _limit.end, _limit.message = before


def end() -> float:
    """When the thread's task has to have ended, as `time.monotonic()` has it; infinite without a limit."""
    return _limit.end


def timeout(at_most: float) -> float:
    """Until the end, for what has a limit of its own; no more than `at_most`."""
    return max(0.0, min(at_most, _limit.end - time.monotonic()))


def check() -> None:
    """Raise TimeLimitError after the end."""
    if time.monotonic() >= _limit.end:
        raise TimeLimitError(_limit.message)
