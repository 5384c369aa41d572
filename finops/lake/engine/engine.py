"""The only place that runs queries over facts: compiles the query, takes a snapshot of its files, and caches its
result."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date

import pyarrow as pa
from django.conf import settings

from accounts.models import Account
from finops.lake import schema as schemas
from finops.lake.engine import compiler, duckdb, routing, shared_results, snapshot, spark
from finops.lake.engine.answer_inputs import note_query, note_usage
from finops.lake.engine.compiler import Build, Currency, File, Query, cost_table, fact_table
from finops.lake.engine.conversion import current_currencies
from finops.lake.engine.errors import (
    LakeBusy,
    LakeTimeout,
    LakeTooLarge,
    LakeUnavailable,
    UnreadableFile,
    check_deadline,
)
from finops.lake.engine.query_metrics import count_files, count_outcome
from finops.lake.engine.result_cache import QueryResultCache, ResultKey
from finops.lake.engine.snapshot import Snapshot
from finops.lake.schema import Kind
from finops.lake.storage import lake_version
from finops.lake.storage.file_cache import DamagedFile
from finops.lake.storage.manifest import Manifest, RemovedSegments, SegmentFile, cost_manifest
from finops.lake.storage.storage import storage
from finops.lib import time_limit
from finops.lib.cost_access import current_limit
from finops.lib.telemetry import metrics, spans

__all__ = ["LakeBusy", "LakeTimeout", "LakeTooLarge", "LakeUnavailable", "cost_table", "fact_table", "run"]

logger = logging.getLogger(__name__)


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
    """The result of `build(facts)` over the account's facts of these days (inclusive).

    A usage event counts once from the commit that accepted it, whether it is in the inbox or in a segment.

    `build` gets an Ibis table with the base columns of `kind` and a column for each of `tag_keys`
    (`schema.tag_column` names it; for usage: dimension keys). A key that no file has is null. `build` may filter,
    group, sum, count, min, max, CASE, truncate dates and rank; compute ratios and products in Python with `Decimal`.
    The result has exactly the types of the expression. Without facts, the result is that over an empty table.

    `allow_rollups` says that the question gives the same result if lines with equal values in the used columns, and
    equal signs of their amounts, are one line with their sums: it counts no lines, and only sums amounts or compares
    them with 0. Then rollups that have the columns are read in place of the lines (ADR 0015).

    Inside a `currency_scope` cost is in that scope's currency, unless `in_own_currency` is set (for comparison with a
    bill). Cost is limited to what the reader may see (raises NoCostAccess if that is not set), and is that
    of `manifest` or else of the current one: questions with the same manifest read the same files. A result over the
    same files is cached and not computed again.

    `deadline` is a value of `time.monotonic()`; the default is LAKE_DEADLINE_SECONDS from now, and never later than
    the end of the task (`time_limit`). Waiting for a core counts. Raises LakeTimeout, LakeTooLarge or
    LakeUnavailable, all of which are UserError with advice.
    """
    if deadline is None:
        deadline = time.monotonic() + settings.LAKE_DEADLINE_SECONDS
    deadline = min(deadline, time_limit.end())
    check_deadline(deadline)
    query = compiler.compile_query(kind, build, tag_keys, current_limit() if kind is Kind.COST else None)
    currency = None if in_own_currency else query.currency(current_currencies(), start, end)
    if kind is Kind.COST:
        manifest = manifest or cost_manifest(account)
        if (cached := _cached_result(account, query, start, end, currency, manifest)) is not None:
            return cached
    try:
        return _answer(account, query, start, end, currency, deadline, manifest, allow_rollups=allow_rollups)
    except UnreadableFile as error:
        _forget_file(manifest, error)
        return _answer_again(account, query, start, end, currency, deadline, error)


def _forget_file(manifest: Manifest | None, error: UnreadableFile) -> None:
    """Forget a file that could not be read. Raises RemovedSegments if the manifest is an earlier one, which has no
    replacement."""
    if manifest is None:
        return
    manifest.forget_files()
    if manifest.is_kept:
        raise RemovedSegments(manifest.segments_of({str(error)})) from error


def _answer_again(
    account: Account,
    query: Query,
    start: date,
    end: date,
    currency: Currency | None,
    deadline: float,
    first: UnreadableFile,
) -> pa.Table:
    """Run the query again over segments only, after a file could not be read: a rollup holds nothing that its segment
    does not. Garbage collection deletes a file an hour after its month was rewritten, so the current manifest names a
    newer one. Raises LakeUnavailable."""
    logger.warning("lake: a segment of account %s was unreadable, asking the manifest again", account.pk)
    try:
        if time.monotonic() >= deadline:
            raise first  # the storage did not respond in time
        return _answer(account, query, start, end, currency, deadline)
    except UnreadableFile as error:
        logger.exception("lake: a segment of account %s cannot be read", account.pk)
        raise LakeUnavailable(
            f"A file of the stored {query.kind} data cannot be read right now. Try again in a minute. "
            "If this persists, import the affected month again; the server log names the file."
        ) from error


def _cached_result(
    account: Account, query: Query, start: date, end: date, currency: Currency | None, manifest: Manifest
) -> pa.Table | None:
    """The cached result of the same query over the same files, or None. Records the query for the answer's receipt.
    Raises ValueError for another account's manifest."""
    if manifest.account_id != account.pk:
        raise ValueError("the manifest is of another account")
    note_query(query, start, end, currency, manifest)
    return _stored_result(_result_key(query, manifest.paths(start, end), start, end, currency), query)


def _stored_result(key: ResultKey, query: Query) -> pa.Table | None:
    """The result cached by this process, or by another one."""
    table = _result_cache.get(key)
    if table is None and (table := shared_results.get(key, query.result)) is not None:
        _result_cache.put(key, table, settings.LAKE_ANSWERS_BYTES)
    if table is not None:
        metrics.RESULT_CACHE.inc("hit")
    return table


@contextmanager
def read_batches(
    segments: Sequence[SegmentFile], statement: Callable[[Sequence[File]], str], *, account: Account | None
) -> Iterator[pa.RecordBatchReader]:
    """Yield the result of a statement over whole files in batches, for code that rewrites them; questions use `run`.

    Memory and spill are bounded as for any query, and rows are not held. The deadline is that of the task, if it has
    one. Raises LakeUnavailable for a file that cannot be fetched, LakeTimeout, and errors of DuckDB and Arrow for a
    truncated file.
    """
    with duckdb.instance(account).stream(statement(local_files(segments))) as batches:
        yield batches


def local_files(segments: Sequence[SegmentFile]) -> list[File]:
    """Paths of these files on this machine's disk. Files never change, and stay readable for a process that has
    opened them. Raises LakeUnavailable for a file that cannot be fetched."""
    _refuse_later_files(segments)
    try:
        return _local(segments, threading.TIMEOUT_MAX)
    except UnreadableFile as error:
        raise LakeUnavailable(f"A file of the stored usage cannot be read right now: {error}") from error


def _answer(
    account: Account,
    query: Query,
    start: date,
    end: date,
    currency: Currency | None,
    deadline: float,
    manifest: Manifest | None = None,
    *,
    allow_rollups: bool = False,
) -> pa.Table:
    check_deadline(deadline)
    if query.kind is Kind.USAGE:
        note_usage()
    columns = query.columns if currency is None else _columns_with(query, currency)
    # Conversion rounds each line; a rollup would round their sum.
    allow_rollups = allow_rollups and (currency is None or currency.rates is None)
    live = snapshot.take(
        account, query.kind, start, end, columns, allow_rollups=allow_rollups, manifest=manifest
    )
    key = _result_key(query, [file.path for file in live.files], start, end, currency)
    # Pending events change with every push, so only results over files are cached.
    if live.waiting is None and (stored := _stored_result(key, query)) is not None:
        return stored
    metrics.RESULT_CACHE.inc("miss")
    _refuse_later_files(live.files)
    route = routing.route(account, query, live, currency)
    routing.note_route(query, live, route)
    if route.engine == "spark":
        table = _answer_of_cluster(account, query, start, end, currency, deadline, live)
    else:
        table = _answer_of_this_machine(account, query, start, end, currency, deadline, live)
    if live.waiting is None:
        _result_cache.put(key, table, settings.LAKE_ANSWERS_BYTES)
        shared_results.put(key, table)
    return table


def _refuse_later_files(segments: Sequence[SegmentFile]) -> None:
    """Check the versions of files. Raises LakeUnavailable for files whose version this program does not read: a newer
    program runs beside it."""
    paths = [each.rollup[0] if each.rollup else each.path for each in segments]
    if later := lake_version.unreadable(paths):
        logger.error("lake: %d files are of a later version, as %s", len(later), later[0])
        raise LakeUnavailable(
            "A newer version of the console wrote some of this data, and this server is an older one. Try again in a minute; "
            "if this persists, the upgrade of the console has to be completed."
        )


def _answer_of_this_machine(
    account: Account,
    query: Query,
    start: date,
    end: date,
    currency: Currency | None,
    deadline: float,
    live: Snapshot,
) -> pa.Table:
    files = _local(live.files, deadline)
    sql = query.sql(files, start, end, waiting=live.waiting is not None, currency=currency)
    tables = {} if live.waiting is None else {compiler.INBOX_TABLE: live.waiting}
    if currency is not None and currency.rates is not None:
        tables[compiler.RATES_TABLE] = currency.rates.table
    count_files(query.kind, files)
    with metrics.LAKE_SECONDS.time(str(query.kind)), spans.span(f"lake {query.kind}"):
        table = duckdb.instance(account).execute(sql, deadline, tables, account_id=account.pk)
    return table if table.schema == query.result else table.cast(query.result)


def _answer_of_cluster(
    account: Account,
    query: Query,
    start: date,
    end: date,
    currency: Currency | None,
    deadline: float,
    live: Snapshot,
) -> pa.Table:
    metrics.LAKE_BYTES.inc(str(query.kind), by=sum(file.bytes for file in live.files))
    with metrics.LAKE_SECONDS.time(str(query.kind)), spans.span(f"spark {query.kind}"):
        return spark.execute(
            account_id=account.pk,
            query=query,
            files=live.files,
            start=start,
            end=end,
            waiting=live.waiting,
            currency=currency,
            deadline=deadline,
        )


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
        check_deadline(deadline)
        try:
            with time_limit.limit_time(deadline - time.monotonic()):
                path = store.local(*(segment.rollup or (segment.path, segment.checksum)))
        except (OSError, DamagedFile) as error:
            raise UnreadableFile(segment.path) from error
        files.append(File(path, segment.columns))
    return files


def result_cache_bytes() -> int:
    """Bytes of the results that this process caches."""
    return _result_cache.bytes


def _forget_after_fork() -> None:
    """Give the child an empty cache: a thread that exists only in the parent may hold the lock of the parent's."""
    global _result_cache
    _result_cache = QueryResultCache()


_result_cache = QueryResultCache()
os.register_at_fork(after_in_child=_forget_after_fork)
