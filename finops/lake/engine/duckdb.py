"""The DuckDB of a process: one instance, one more for each account with its own memory limit, a new cursor for each
query: DuckDB's memory limit is one of an instance, not of a statement.

Two threads that share a cursor can get each other's results (measured: 14 of 18); new cursors never did (480 of 480).
The instance can read the lake's directory and nothing else, and its configuration is locked.
"""

from __future__ import annotations

import itertools
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

from accounts.limits import lake_memory_of
from accounts.models import Account
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
from finops.lib.bulkheads import Bulkhead, Busy
from finops.lib.memory import MB, lake_memory

SPILL_PER_MEMORY: Final = 4
"""Disk space that a process may use for data that does not fit its memory, as a multiple of that memory."""

STREAM_BATCH_ROWS: Final = 16_384
"""Rows of a batch where files are rewritten."""

RESULT_BATCH_ROWS: Final = 16_384
"""Rows that DuckDB allocates memory for in each batch of an answer, however few there are. The default of one million
takes 100 MB of addresses, and is slower for few rows (0.85 ms vs. 0.72) and for many (half a million: 244 ms vs.
140)."""


RESERVED: Final = 2
"""Slots that are open only to tenants without a running query, at most as many as the others."""
BACKGROUND: Final = 0
"""The tenant of statements that rewrite files, of all accounts."""


@dataclass
class Instance:
    """One DuckDB instance of this process. All share `slots`, which tenants share fairly."""

    connection: duckdb.DuckDBPyConnection
    slots: Bulkhead
    memory: int
    """Memory limit in bytes."""

    def execute(
        self,
        sql: str,
        deadline: float,
        tables: Mapping[str, pa.Table] | None = None,
        *,
        account_id: int = BACKGROUND,
    ) -> pa.Table:
        """Return all rows of an account's query by the deadline (monotonic seconds). `tables` are its inputs other than
        files, by name.

        Raises LakeBusy if no slot became free in time, LakeTimeout past the deadline, LakeTooLarge if it needs more
        memory or larger numbers than allowed, UnreadableFile for a missing or damaged segment.
        """
        with self._slot(account_id, deadline):
            check_deadline(deadline)
            cursor = self.connection.cursor()
            try:
                for name, table in (tables or {}).items():
                    # A view of this cursor only: invisible to others, and dropped when the cursor closes.
                    cursor.register(name, table)
                with _watchdog.watch(cursor, deadline):
                    return cursor.execute(sql).to_arrow_table(RESULT_BATCH_ROWS)
            except duckdb.InterruptException as error:
                raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}") from error
            except duckdb.OutOfMemoryException as error:
                raise LakeTooLarge(
                    f"The query exceeded its memory limit of {self.memory // MB:,} MB. {NARROW_ADVICE}"
                ) from error
            except duckdb.OutOfRangeException as error:
                raise LakeTooLarge(f"The total is too large. {NARROW_ADVICE}") from error
            except (duckdb.IOException, duckdb.InvalidInputException) as error:  # missing, or not Parquet
                raise UnreadableFile(str(error)) from error
            finally:
                cursor.close()

    @contextmanager
    def stream(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        """Yield the batches of a query, with one in memory at a time, until the end of the call's time limit.

        Raises LakeBusy if no slot became free in time, LakeTimeout past the limit.
        """
        deadline = time_limit.end()
        with self._slot(BACKGROUND, min(deadline, time.monotonic() + threading.TIMEOUT_MAX / 2)):
            cursor = self.connection.cursor()
            try:
                with _watchdog.watch(cursor, deadline):
                    yield cursor.execute(sql).to_arrow_reader(STREAM_BATCH_ROWS)
            except (duckdb.InterruptException, OSError) as error:
                # After the first batch Arrow's reader raises errors of DuckDB as OSError.
                if isinstance(error, OSError) and not str(error).startswith("INTERRUPT "):
                    raise
                raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}") from error
            finally:
                cursor.close()

    @contextmanager
    def _slot(self, tenant: int, deadline: float) -> Iterator[None]:
        try:
            self.slots.acquire(tenant, deadline - time.monotonic())
        except Busy as error:
            raise LakeBusy("The server is busy with other queries. Try again.") from error
        try:
            yield
        finally:
            self.slots.release(tenant)


def _slots(size: int) -> Bulkhead:
    """Return slots for `size` queries at once, and a few more, so that beside a tenant that uses all of them another one's
    query starts at once. DuckDB divides its threads among the queries that run."""
    reserved = min(size, RESERVED)
    return Bulkhead("lake", size=size + reserved, share=size, reserved=reserved)


ACCOUNT_INSTANCES: Final = 4
"""Instances of accounts with a lake memory of their own that a process keeps: the last used."""

_instances: dict[Path, Instance] = {}
_account_instances: dict[tuple[Path, int, int], Instance] = {}
"""By lake, account and memory; the last used is the last."""
_instances_lock = threading.Lock()
_watchdog = Watchdog()
_parent_instances: list[object] = []
_spill_numbers = itertools.count(1)


def instance(account: Account | None = None) -> Instance:
    """Return the DuckDB of this process, or a separate one if an operator set the account's lake memory. All share
    the slots of this process."""
    memory = None if account is None else lake_memory_of(account)
    if account is not None and memory is not None:
        return _account_instance(account.pk, memory)
    directory = storage().readable_directory
    present = _instances.get(directory)
    if present is not None:
        return present
    with _instances_lock:
        if directory not in _instances:
            slots = _slots(max(1, settings.LAKE_CONCURRENCY))
            new_instance = _make_instance(directory, lake_memory(), _spill_directory(), slots)
            # A process has one lake; tests have many, and the threads of an instance take address space.
            _instances.clear()
            _account_instances.clear()
            _instances[directory] = new_instance
        return _instances[directory]


def _account_instance(account_id: int, memory: int) -> Instance:
    slots, directory = instance().slots, storage().readable_directory
    key = directory, account_id, memory
    with _instances_lock:
        present = _account_instances.pop(key, None)
        if present is None:
            # A replaced instance may still run a query and use its files.
            spill = _spill_directory(f".{next(_spill_numbers)}")
            present = _make_instance(directory, memory, spill, slots)
        _account_instances[key] = present
        for other in [each for each in _account_instances if each != key and each[:2] == key[:2]]:
            del _account_instances[other]  # an instance with the account's former limit
        while len(_account_instances) > ACCOUNT_INSTANCES:
            del _account_instances[next(iter(_account_instances))]
    return present


def _forget_after_fork() -> None:
    """Make a child process create its own instances. The parent's are kept, unused: closing them would wait for
    threads that only the parent has."""
    global _instances, _account_instances, _instances_lock, _watchdog
    _parent_instances.extend((_instances, _account_instances))
    _instances, _account_instances, _instances_lock, _watchdog = {}, {}, threading.Lock(), Watchdog()


os.register_at_fork(after_in_child=_forget_after_fork)


def _make_instance(directory: Path, memory: int, spill: Path, slots: Bulkhead) -> Instance:
    connection = duckdb.connect(
        config={
            "threads": os.cpu_count() or 1,
            "memory_limit": f"{memory // MB}MiB",
            "temp_directory": str(spill),
            "max_temp_directory_size": f"{memory // MB * SPILL_PER_MEMORY}MiB",
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        }
    )
    connection.execute("SET TimeZone = 'UTC'")
    # Segments never change, so cached metadata of a segment stays valid.
    connection.execute("SET parquet_metadata_cache = true")
    # It keeps the data of each file, also of removed ones, up to the limit of memory.
    connection.execute("SET enable_external_file_cache = false")
    connection.execute("SET allowed_directories = [?]", [f"{directory}/"])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return Instance(connection, slots, memory)


def _spill_directory(suffix: str = "") -> Path:
    """Return the directory of one instance, because DuckDB's file names are the same in every instance. Its name
    contains the machine's: containers that share VAR_DIR may have equal process numbers."""
    parent = Path(settings.VAR_DIR, "spill")
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.iterdir():
        _remove_if_dead(leftover)
    return parent / f"{socket.gethostname()}-{os.getpid()}{suffix}"


def _remove_if_dead(spill: Path) -> None:
    host, _, name = spill.name.rpartition("-")
    process = name.partition(".")[0]
    if host not in ("", socket.gethostname()) or not process.isdigit():
        return
    if Path("/proc", process).exists() or not Path("/proc/self").exists():
        return
    for file in spill.iterdir():
        file.unlink(missing_ok=True)
    spill.rmdir()
