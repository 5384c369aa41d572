"""The time limit of a task: the worker sets it by lane, and long work checks it.

A thread cannot be ended from outside. Each statement of the lake is interrupted at the end of its task, and code that runs
many of them, or much Python, calls `check` in between.
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
    """Limit this thread's work in the block to this many seconds. `message` is the error's."""
    before = _limit.end, _limit.message
    _limit.end, _limit.message = min(before[0], time.monotonic() + seconds), message
    try:
        yield
    finally:
        _limit.end, _limit.message = before


def end() -> float:
    """The time of `time.monotonic()` at which the thread's task must have ended; infinite without a limit."""
    return _limit.end


def timeout(at_most: float) -> float:
    """The seconds until the end, for calls with a timeout of their own; no more than `at_most`. Never 0, which some
    libraries take for no timeout. Raises TimeLimitError after the end."""
    seconds = _limit.end - time.monotonic()
    if seconds <= 0:
        raise TimeLimitError(_limit.message)
    return min(at_most, seconds)


def check() -> None:
    """Raise TimeLimitError after the end."""
    timeout(math.inf)
