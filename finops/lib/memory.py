"""The memory of the machine, and what DuckDB may have of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from django.conf import settings

MB: Final = 2**20
LEAST_LAKE_MEMORY: Final = 64 * MB

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
