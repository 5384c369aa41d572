"""The only place that runs a query over facts: one DuckDB instance a process, a fresh cursor for each query.

A cursor that two threads share gives one the other's answer (measured: 14 of 18); fresh ones never did (480 of
480). The instance can read the lake's directory and nothing else, and its configuration is locked.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
from django.conf import settings

from accounts.models import Account
from finops.lake import schema as schemas
from finops.lake.engine import compiler, snapshot
from finops.lake.engine.compiler import Build, Currency, File, Query, cost_table, fact_table
from finops.lake.engine.conversion import current_currencies
from finops.lake.engine.query_metrics import count_files, count_outcome
from finops.lake.engine.result_cache import QueryResultCache, ResultKey
from finops.lake.engine.watchdog import Watchdog
from finops.lake.queries import SegmentFile
from finops.lake.schema import Kind
from finops.lake.storage.file_cache import DamagedFile
from finops.lake.storage.manifest import Manifest, cost_manifest
from finops.lake.storage.storage import storage
from finops.lib import time_limit
from finops.lib.errors import UserError
from finops.lib.telemetry import metrics, spans

__all__ = ["LakeBusy", "LakeTimeout", "LakeTooLarge", "LakeUnavailable", "cost_table", "fact_table", "run"]

logger = logging.getLogger(__name__)

SPILL_PER_MEMORY: Final = 4
"""Disk that a process may use for what does not fit its memory, as a multiple of it."""

STREAM_BATCH_ROWS: Final = 16_384
"""Rows that come in one batch where files are rewritten."""

RESULT_BATCH_ROWS: Final = 16_384
"""DuckDB takes memory for so many rows of an answer, however few come. Its own million takes 100 MB of addresses, and
is slower for few rows (0.85 ms against 0.72) and for many (half a million: 244 ms against 140)."""

NARROW_ADVICE: Final = "Use fewer days, fewer or coarser dimensions, or a filter."


class LakeTimeout(UserError):
    """The query ran into its deadline and was stopped."""

    outcome = "timeout"


class LakeBusy(LakeTimeout):
    """The deadline passed while other queries had the cores."""

    outcome = "busy"


class LakeTooLarge(UserError):
    """The query needs more memory and disk than one query may have, or its sums more digits than there are."""

    outcome = "too_large"


class LakeUnavailable(UserError):
    """A stored file cannot be read. Nothing the caller did; the log says which file."""

    outcome = "unavailable"


@count_outcome
def run(
    account: Account,
    kind: Kind,
    start: date,
    end: date,
    build: Build,
    *,
    tag_keys: Collection[str] = (),
    allow_rollups: bool = False,
    manifest: Manifest | None = None,
    deadline: float | None = None,
    in_own_currency: bool = False,
) -> pa.Table:
    """The answer of `build(facts)` over the account's own facts of these days (inclusive).

    A usage event counts from the commit that accepted it, waiting in the inbox or in a segment, and once at any moment.

    `build` gets an Ibis table with the base columns of `kind` and a column for each of `tag_keys`
    (`schema.tag_column` names it; usage: dimension keys); whatever no file has is null. It may filter, group,
    sum, count, min, max, CASE, truncate dates and rank; ratios and products belong in Python `Decimal`. The
    result has exactly the types of the expression. Without facts, the answer is that over an empty table.

    `allow_rollups` says that lines with equal values in the columns that are used, and equal signs of their amounts, may be
    one line with their sums: no line is counted, and amounts are only summed or compared with 0. Then rollups are read in
    place of the lines, where there are any that have these columns; the answer is the same (ADR 0015).

    Inside a `currency_scope` cost is in its currency, unless `in_own_currency`, which is for what is held against a bill.

    A question about cost over files that it was answered over before is not run again. `manifest` is what the
    caller has just read of `cost_manifest`, else it is read here.

    `deadline` is a value of `time.monotonic()`; without one, LAKE_DEADLINE_SECONDS from now, and never after the end of
    the task (`time_limit`). Waiting for a core counts. Raises LakeTimeout, LakeTooLarge or LakeUnavailable, all of them
    UserError with advice.
    """
    if deadline is None:
        deadline = time.monotonic() + settings.LAKE_DEADLINE_SECONDS
    deadline = min(deadline, time_limit.end())
    _check(deadline)
    query = compiler.compile_query(kind, build, tag_keys)
    currency = None if in_own_currency else query.currency(current_currencies(), start, end)
    if kind is Kind.COST and settings.LAKE_ANSWERS_BYTES:
        cached = _cached_result(account, query, start, end, currency, manifest or cost_manifest(account))
        if cached is not None:
            return cached
    try:
        return _answer(account, query, start, end, currency, deadline, allow_rollups=allow_rollups)
    except _UnreadableFile:
        logger.warning("lake: a segment of account %s was unreadable, asking the manifest again", account.pk)
        return _answer_again(account, query, start, end, currency, deadline)


def _answer_again(
    account: Account, query: Query, start: date, end: date, currency: Currency | None, deadline: float
) -> pa.Table:
    """After a file could not be read, from the segments alone: what a rollup has is in its segment too. Garbage collection
    deletes a file an hour after its month was rewritten, so the manifest has a newer one by now. Raises LakeUnavailable."""
    try:
        return _answer(account, query, start, end, currency, deadline)
    except _UnreadableFile as error:
        logger.exception("lake: a segment of account %s cannot be read", account.pk)
        raise LakeUnavailable(
            f"A file of the stored {query.kind} data cannot be read right now. Try again in a minute. "
            "If this persists, import the affected month again; the server log names the file."
        ) from error


def _cached_result(
    account: Account, query: Query, start: date, end: date, currency: Currency | None, manifest: Manifest
) -> pa.Table | None:
    """The result of the same query over the same files, if it is kept. Raises ValueError for another account's manifest."""
    if manifest.account_id != account.pk:
        raise ValueError("the manifest is of another account")
    cached = _result_cache.get(_result_key(query, manifest.paths(start, end), start, end, currency))
    if cached is not None:
        metrics.RESULT_CACHE.inc("hit")
    return cached


@contextmanager
def read_batches(
    segments: Sequence[SegmentFile], statement: Callable[[Sequence[File]], str]
) -> Iterator[pa.RecordBatchReader]:
    """What a statement over whole files gives, in batches, for what rewrites them; questions `run`.

    Memory and spill are bounded as any query's; the rows are not held. Its deadline is that of the task, if it has one.
    Raises LakeUnavailable for a file that cannot be had, LakeTimeout, DuckDB's and Arrow's errors for one that breaks
    off.
    """
    with _instance().stream(statement(local_files(segments))) as batches:
        yield batches


def local_files(segments: Sequence[SegmentFile]) -> list[File]:
    """These files on this machine's disk. They never change, and stay readable for whoever has opened them. Raises
    LakeUnavailable for one that cannot be had."""
    try:
        return _local(segments, threading.TIMEOUT_MAX)
    except _UnreadableFile as error:
        raise LakeUnavailable(f"A file of the stored usage cannot be read right now: {error}") from error


class _UnreadableFile(Exception):
    """A file of the manifest is missing or damaged."""


def _answer(
    account: Account,
    query: Query,
    start: date,
    end: date,
    currency: Currency | None,
    deadline: float,
    *,
    allow_rollups: bool = False,
) -> pa.Table:
    _check(deadline)
    columns = query.columns if currency is None else _columns_with(query, currency)
    # The lines of a rollup would be rounded together.
    allow_rollups = allow_rollups and (currency is None or currency.rates is None)
    live = snapshot.take(account, query.kind, start, end, columns, allow_rollups=allow_rollups)
    key = _result_key(query, [file.path for file in live.files], start, end, currency)
    # What waits in the inbox changes with every push, so only what is in files is kept.
    cached = _result_cache.get(key) if live.waiting is None else None
    if cached is not None:
        metrics.RESULT_CACHE.inc("hit")
        return cached
    metrics.RESULT_CACHE.inc("miss")
    files = _local(live.files, deadline)
    sql = query.sql(files, start, end, waiting=live.waiting is not None, currency=currency)
    tables = {} if live.waiting is None else {compiler.INBOX_TABLE: live.waiting}
    if currency is not None and currency.rates is not None:
        tables[compiler.RATES_TABLE] = currency.rates.table
    count_files(query.kind, files)
    with metrics.LAKE_SECONDS.time(str(query.kind)), spans.span(f"lake {query.kind}"):
        table = _instance().execute(sql, deadline, tables)
    if table.schema != query.result:
        table = table.cast(query.result)
    if live.waiting is None:
        _result_cache.put(key, table, settings.LAKE_ANSWERS_BYTES)
    return table


def _columns_with(query: Query, currency: Currency) -> tuple[str, ...]:
    """The columns that files must have where lines are told apart by their currency and day."""
    return tuple(dict.fromkeys([*query.columns, "currency", schemas.day_column(query.kind)]))


def _result_key(
    query: Query, paths: Sequence[str], start: date, end: date, currency: Currency | None
) -> ResultKey:
    return ResultKey.of(
        storage().readable_directory, query, paths, start, end, currency.identity if currency else ""
    )


def _local(segments: Sequence[SegmentFile], deadline: float) -> list[File]:
    files, store = [], storage()
    for segment in segments:
        _check(deadline)
        try:
            path = store.local(*(segment.rollup or (segment.path, segment.checksum)))
        except (OSError, DamagedFile) as error:
            raise _UnreadableFile(segment.path) from error
        files.append(File(path, segment.columns))
    return files


def _check(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise LakeTimeout(f"The query timed out. {NARROW_ADVICE}")


@dataclass
class _Instance:
    """One DuckDB of this process, and the turns on it."""

    connection: duckdb.DuckDBPyConnection
    turns: threading.BoundedSemaphore

    def execute(self, sql: str, deadline: float, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """All rows of a query, by the deadline (monotonic seconds); `tables` are what it reads besides files, by name.

        Raises LakeBusy without a turn in time, LakeTimeout past the deadline, LakeTooLarge for more memory or larger
        numbers than there may be, _UnreadableFile for a segment that is gone or damaged.
        """
        with self._turn(deadline):
            _check(deadline)
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
                raise _UnreadableFile(str(error)) from error
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


_instances: dict[Path, _Instance] = {}
_instances_lock = threading.Lock()
_result_cache = QueryResultCache()
_watchdog = Watchdog()
_parent_instances: list[dict[Path, _Instance]] = []


def _instance() -> _Instance:
    directory = storage().readable_directory
    instance = _instances.get(directory)
    if instance is not None:
        return instance
    with _instances_lock:
        if directory not in _instances:
            new_instance = _make_instance(directory)
            # A process has one lake; tests have many, and the threads of an instance take address space.
            _instances.clear()
            _instances[directory] = new_instance
        return _instances[directory]


def result_cache_bytes() -> int:
    """Of the answers that this process keeps."""
    return _result_cache.bytes


def _forget_after_fork() -> None:
    """A child makes its own instance. The parent's is kept alive, unused: closing it would wait for threads that
    only the parent has."""
    global _instances, _instances_lock, _result_cache, _watchdog
    _parent_instances.append(_instances)
    _instances, _instances_lock, _result_cache, _watchdog = (
        {},
        threading.Lock(),
        QueryResultCache(),
        Watchdog(),
    )


os.register_at_fork(after_in_child=_forget_after_fork)


def _make_instance(directory: Path) -> _Instance:
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
    return _Instance(connection, threading.BoundedSemaphore(max(1, settings.LAKE_CONCURRENCY)))


def _memory_share() -> int:
    """Half of the machine's (or the container's) memory, divided by the processes that may hold an instance: each web
    process, the worker of what is due and that of insights. Imports have theirs in children, with their own limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return total // 2 // (settings.WEB_PROCESSES + 2)


def _spill_directory() -> Path:
    """A directory of this process alone: DuckDB's file names in it are the same in every process."""
    parent = Path(settings.VAR_DIR, "spill")
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.iterdir():
        _remove_if_dead(leftover)
    return parent / str(os.getpid())


def _remove_if_dead(spill: Path) -> None:
    if not spill.name.isdigit() or Path("/proc", spill.name).exists() or not Path("/proc/self").exists():
        return
    for file in spill.iterdir():
        file.unlink(missing_ok=True)
    spill.rmdir()
