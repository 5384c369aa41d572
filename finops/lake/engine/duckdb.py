"""The DuckDB of a process: one instance, a fresh cursor for each query.

A cursor that two threads share gives one the other's answer (measured: 14 of 18); fresh ones never did (480 of
480). The instance can read the lake's directory and nothing else, and its configuration is locked.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
from django.conf import settings

from finops.lake.engine.errors import (
    NARROW_ADVICE,
    LakeBusy,
    LakeTimeout,
    LakeTooLarge,
    UnreadableFile,
    check_deadline,
)
from finops.lake.engine.watchdog import Watchdog
from finops.lake.storage.storage import storage
from finops.lib import time_limit

SPILL_PER_MEMORY: Final = 4
"""Disk that a process may use for what does not fit its memory, as a multiple of it."""

STREAM_BATCH_ROWS: Final = 16_384
"""Rows that come in one batch where files are rewritten."""

RESULT_BATCH_ROWS: Final = 16_384
"""DuckDB takes memory for so many rows of an answer, however few come. Its own million takes 100 MB of addresses, and
is slower for few rows (0.85 ms against 0.72) and for many (half a million: 244 ms against 140)."""


@dataclass
class Instance:
    """One DuckDB of this process, and the turns on it."""

    connection: duckdb.DuckDBPyConnection
    turns: threading.BoundedSemaphore

    def execute(self, sql: str, deadline: float, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """All rows of a query, by the deadline (monotonic seconds); `tables` are what it reads besides files, by name.

        Raises LakeBusy without a turn in time, LakeTimeout past the deadline, LakeTooLarge for more memory or larger
        numbers than there may be, UnreadableFile for a segment that is gone or damaged.
        """
        with self._turn(deadline):
            check_deadline(deadline)
            cursor = self.connection.cursor()
            try:
                for name, table in (tables or {}).items():
                    # A view of this cursor alone: no other sees it, and it goes when the cursor closes.
                    cursor.register(name, table)
                with _watchdog.watch(cursor, deadline):
                    return cursor.execute(sql).to_arrow_table(RESULT_BATCH_ROWS)
            except duckdb.InterruptException as error:
                raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}") from error
            except duckdb.OutOfMemoryException as error:
                raise LakeTooLarge(f"The query exceeded its memory limit. {NARROW_ADVICE}") from error
            except duckdb.OutOfRangeException as error:
                raise LakeTooLarge(f"The total is too large. {NARROW_ADVICE}") from error
            except (duckdb.IOException, duckdb.InvalidInputException) as error:  # gone; no Parquet
                raise UnreadableFile(str(error)) from error
            finally:
                cursor.close()

    @contextmanager
    def stream(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        """The batches of a query, one in memory at a time, by the end of the call's time limit.

        Raises LakeBusy without a turn in time, LakeTimeout past the limit.
        """
        deadline = time_limit.end()
        with self._turn(min(deadline, time.monotonic() + threading.TIMEOUT_MAX / 2)):
            cursor = self.connection.cursor()
            try:
                with _watchdog.watch(cursor, deadline):
                    yield cursor.execute(sql).to_arrow_reader(STREAM_BATCH_ROWS)
            except (duckdb.InterruptException, OSError) as error:
                # Arrow's reader says it as an OSError, once the first batch is there.
                if isinstance(error, OSError) and not str(error).startswith("INTERRUPT "):
                    raise
                raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}") from error
            finally:
                cursor.close()

    @contextmanager
    def _turn(self, deadline: float) -> Iterator[None]:
        if not self.turns.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise LakeBusy("The server is busy with other queries. Try again.")
        try:
            yield
        finally:
            self.turns.release()


_instances: dict[Path, Instance] = {}
_instances_lock = threading.Lock()
_watchdog = Watchdog()
_parent_instances: list[dict[Path, Instance]] = []


def instance() -> Instance:
    directory = storage().readable_directory
    present = _instances.get(directory)
    if present is not None:
        return present
    with _instances_lock:
        if directory not in _instances:
            new_instance = _make_instance(directory)
            # A process has one lake; tests have many, and the threads of an instance take address space.
            _instances.clear()
            _instances[directory] = new_instance
        return _instances[directory]


def _forget_after_fork() -> None:
    """A child makes its own instance. The parent's is kept alive, unused: closing it would wait for threads that
    only the parent has."""
    global _instances, _instances_lock, _watchdog
    _parent_instances.append(_instances)
    _instances, _instances_lock, _watchdog = {}, threading.Lock(), Watchdog()


os.register_at_fork(after_in_child=_forget_after_fork)


def _make_instance(directory: Path) -> Instance:
    memory = settings.LAKE_MEMORY_BYTES or _memory_share()
    spill = _spill_directory()
    connection = duckdb.connect(
        config={
            "threads": os.cpu_count() or 1,
            "memory_limit": f"{memory // 2**20}MiB",
            "temp_directory": str(spill),
            "max_temp_directory_size": f"{memory // 2**20 * SPILL_PER_MEMORY}MiB",
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.execute("SET TimeZone = 'UTC'")
    # Segments never change, so what was read of one stays true.
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute("SET validate_external_file_cache = 'NO_VALIDATION'")
    connection.execute("SET allowed_directories = [?]", [f"{directory}/"])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return Instance(connection, threading.BoundedSemaphore(max(1, settings.LAKE_CONCURRENCY)))


def _memory_share() -> int:
    """Half of the machine's (or the container's) memory, divided by the processes that may hold an instance: each web
    process, the worker of what is due and that of insights. Imports have theirs in children, with their own limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return total // 2 // (settings.WEB_PROCESSES + 2)


def _spill_directory() -> Path:
    """A directory of this process alone: DuckDB's file names in it are the same in every process. With the name of the
    machine, since containers that share VAR_DIR number their processes alike."""
    parent = Path(settings.VAR_DIR, "spill")
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.iterdir():
        _remove_if_dead(leftover)
    return parent / f"{socket.gethostname()}-{os.getpid()}"


def _remove_if_dead(spill: Path) -> None:
    host, _, process = spill.name.rpartition("-")
    if host not in ("", socket.gethostname()) or not process.isdigit():
        return
    if Path("/proc", process).exists() or not Path("/proc/self").exists():
        return
    for file in spill.iterdir():
        file.unlink(missing_ok=True)
    spill.rmdir()
