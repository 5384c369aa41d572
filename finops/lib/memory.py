"""The memory of the machine, what DuckDB may have of it, and the return of what is free (ADR 0108).

PyArrow's allocator gives pages back when a thread allocates again, and glibc when the top of an arena is free. A thread that
merges usage and then waits therefore keeps what it freed, for each thread anew: 100 MB after one merge.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from django.conf import settings

MB: Final = 2**20
LEAST_LAKE_MEMORY: Final = 64 * MB

RETURN_SECONDS = 30.0
"""Each time takes 5 ms of a core."""

_lake_ceiling = 0


def machine_memory() -> int:
    """Return the memory of the machine or the container, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return total


def lake_memory() -> int:
    """Return the memory of a process's DuckDB, in bytes: LAKE_MEMORY_BYTES, else half of the machine's, divided by the processes
    that may hold one: each web process, the worker of what is due and that of insights. Imports have theirs in children, with
    their own limit."""
    return int(settings.LAKE_MEMORY_BYTES) or machine_memory() // 2 // (settings.WEB_PROCESSES + 2)


def lake_memory_ceiling() -> int:
    """Return the most that one account's DuckDB may have in this process, in bytes: half of the machine's memory, or the
    process's own where that is more; in the child process of an import the part that the import may use."""
    return _lake_ceiling or max(machine_memory() // 2, lake_memory())


def limit_lake_memory(ceiling: int) -> None:
    """Set the ceiling for the rest of this process, in bytes."""
    global _lake_ceiling
    _lake_ceiling = ceiling


def return_memory_of_thread() -> None:
    """Return what this thread has freed of PyArrow's. Takes 20 µs; for threads that will wait."""
    pa.default_memory_pool().release_unused()


def return_memory() -> None:
    """Return what is free; PyArrow's of threads that work on is left out. Takes 1 to 7 ms, without the GIL."""
    return_memory_of_thread()
    if (trim := _malloc_trim()) is not None:
        trim(0)


def return_memory_regularly() -> None:
    """Return free memory for as long as this process lives, from a thread of its own."""
    threading.Thread(target=_repeat, name="free memory", daemon=True).start()


def _repeat() -> None:
    # mimalloc returns nothing at the call of a thread that never had memory of it.
    pa.allocate_buffer(1)
    while True:
        time.sleep(RETURN_SECONDS)
        return_memory()


@cache
def _malloc_trim() -> Any:
    """The function of glibc; None where the C library has none, as on macOS and Alpine."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
