"""The memory of the machine, DuckDB's share of it, and the return of freed memory to the system.

PyArrow's allocator returns pages when the thread allocates again, and glibc when the top of an arena is free. So each
thread that merges usage and then waits keeps its freed memory: 100 MB after one merge.
"""

from __future__ import annotations

import ctypes
import threading
import time
from functools import cache
from typing import Any, Final

import pyarrow as pa
from django.conf import settings

from finops.processes import machine_memory

MB: Final = 2**20
LEAST_LAKE_MEMORY: Final = 64 * MB

RETURN_SECONDS = 30.0
"""Seconds between two returns of memory. Each takes 5 ms of a core."""

_lake_ceiling = 0


def lake_memory() -> int:
    """Return the memory of a process's DuckDB in bytes: LAKE_MEMORY_BYTES, else half of the machine's memory divided
    by the processes that may have a DuckDB: each web process, the worker of due tasks and the worker of insights.
    Imports run in children with a limit of their own."""
    return int(settings.LAKE_MEMORY_BYTES) or machine_memory() // 2 // (settings.WEB_PROCESSES + 2)


def lake_memory_ceiling() -> int:
    """Return the most memory of one account's DuckDB in this process, in bytes: half of the machine's memory, or the
    process's own limit if it is higher; in the child process of an import, the part that the import may use."""
    return _lake_ceiling or max(machine_memory() // 2, lake_memory())


def limit_lake_memory(ceiling: int) -> None:
    """Set the ceiling for the rest of this process, in bytes."""
    global _lake_ceiling
    _lake_ceiling = ceiling


def return_memory_of_thread() -> None:
    """Return the memory that this thread freed in PyArrow's allocator. Takes 20 µs; for threads that will wait."""
    pa.default_memory_pool().release_unused()


def return_memory() -> None:
    """Return freed memory to the system, except PyArrow's of other threads that are running. Takes 1 to 7 ms, without
    the GIL."""
    return_memory_of_thread()
    if (trim := _malloc_trim()) is not None:
        trim(0)


def return_memory_regularly() -> None:
    """Start a thread that returns freed memory as long as this process lives."""
    threading.Thread(target=_repeat, name="free memory", daemon=True).start()


def _repeat() -> None:
    # mimalloc returns nothing if the calling thread never allocated.
    pa.allocate_buffer(1)
    while True:
        time.sleep(RETURN_SECONDS)
        return_memory()


@cache
def _malloc_trim() -> Any:
    """Return glibc's malloc_trim; None if the C library has none, as on macOS and Alpine."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
