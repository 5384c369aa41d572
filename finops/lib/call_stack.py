"""A call stack in one piece of memory.

CPython keeps the frames of a thread in chunks of 16 KiB and unmaps a chunk when its last frame returns. A loop whose calls
cross the end of a chunk therefore maps and unmaps memory for each call: up to 40 % of the processor time of a page, which
depends on nothing but the number of frames above the loop. Newer versions keep one free chunk (python/cpython#142183).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

ROOM: Final = 128 * 1024
"""Bytes for the frames of nested calls: 800 of 20 words each. Calls below that have chunks of 16 KiB again."""

_WORD_BYTES: Final = 8
_OVERHEAD_WORDS: Final = 1_000
"""Words that CPython adds to a frame before it rounds the size of its chunk up to a power of two."""

P = ParamSpec("P")
T = TypeVar("T")


def in_one_chunk(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with memory for the frames of all its calls; also a middleware of Django. Cost of a call: 10 µs, so
    it is for pages and threads, and not for short requests."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    # A frame that reserves half of a chunk of 2 * ROOM without using it leaves the other half to its callees.
    call.__code__ = call.__code__.replace(co_stacksize=ROOM // _WORD_BYTES - _OVERHEAD_WORDS + 1)
    return wraps(function)(call)
