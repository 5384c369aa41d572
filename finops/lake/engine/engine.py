"""The only place that runs a query over facts: compiles it, takes a snapshot of its files, and keeps what it gave."""

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
    """The answer of `build(facts)` over the account's own facts of these days (inclusive).

    A usage event counts from the commit that accepted it, waiting in the inbox or in a segment, and once at any moment.

    `build` gets an Ibis table with the base columns of `kind` and a column for each of `tag_keys`
    (`schema.tag_column` names it; usage: dimension keys); whatever no file has is null. It may filter, group,
    sum, count, min, max, CASE, truncate dates and rank; ratios and products belong in Python `Decimal`. The
    result has exactly the types of the expression. Without facts, the answer is that over an empty table.

    `allow_rollups` says that lines with equal values in the columns that are used, and equal signs of their amounts, may be
    one line with their sums: no line is counted, and amounts are only summed or compared with 0. Then rollups are read in
    place of the lines, where there are any that have these columns; the answer is the same (ADR 0015).

    Inside a `currency_scope` cost is in its currency, unless `in_own_currency`, which is for what is held against a bill. It is
    that within the reader's limit (NoCostAccess where no door has decided) and of `manifest`, else of now: questions about one
    manifest are answered over the same files. One that was answered over its files before is not run again.

    `deadline` is a value of `time.monotonic()`; without one, LAKE_DEADLINE_SECONDS from now, and never after the end of
    the task (`time_limit`). Waiting for a core counts. Raises LakeTimeout, LakeTooLarge or LakeUnavailable, all of them
    UserError with advice.
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
        return _answer_again(account, query, start, end, currency, deadline)


def _forget_file(manifest: Manifest | None, error: UnreadableFile) -> None:
    """Raises RemovedSegments where the manifest is of earlier, and so has no other."""
    if manifest is None:
        return
    manifest.forget_files()
    if manifest.is_kept:
        raise RemovedSegments(manifest.segments_of({str(error)})) from error


def _answer_again(
    account: Account, query: Query, start: date, end: date, currency: Currency | None, deadline: float
) -> pa.Table:
    """After a file could not be read, from the segments alone: what a rollup has is in its segment too. Garbage collection
    deletes a file an hour after its month was rewritten, so the manifest has a newer one by now. Raises LakeUnavailable."""
    logger.warning("lake: a segment of account %s was unreadable, asking the manifest again", account.pk)
    try:
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
    """The result of the same query over the same files, if it is kept; notes the query for the answer's receipt. Raises ValueError for another account's manifest."""
    if manifest.account_id != account.pk:
        raise ValueError("the manifest is of another account")
    note_query(query, start, end, currency, manifest)
    return _stored_result(_result_key(query, manifest.paths(start, end), start, end, currency), query)


def _stored_result(key: ResultKey, query: Query) -> pa.Table | None:
    """By this process, else by another."""
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
    """What a statement over whole files gives, in batches, for what rewrites them; questions `run`.

    `account` is whose files they are, with its lake memory; None, for commands of operators, has the process's. Memory and spill are bounded as any query's; the rows are not held. Its deadline is that of the task, if it has one.
    Raises LakeUnavailable for a file that cannot be had, LakeTimeout, DuckDB's and Arrow's errors for one that breaks
    off.
    """
    with duckdb.instance(account).stream(statement(local_files(segments))) as batches:
        yield batches


def local_files(segments: Sequence[SegmentFile]) -> list[File]:
    """These files on this machine's disk. They never change, and stay readable for whoever has opened them. Raises
    LakeUnavailable for one that cannot be had."""
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
    # The lines of a rollup would be rounded together.
    allow_rollups = allow_rollups and (currency is None or currency.rates is None)
    live = snapshot.take(
        account, query.kind, start, end, columns, allow_rollups=allow_rollups, manifest=manifest
    )
    key = _result_key(query, [file.path for file in live.files], start, end, currency)
    # What waits in the inbox changes with every push, so only what is in files is kept.
    if live.waiting is None and (stored := _stored_result(key, query)) is not None:
        return stored
    metrics.RESULT_CACHE.inc("miss")
    _refuse_later_files(live.files)
    chosen = routing.route(account, query, live, currency)
    routing.note_route(query, live, chosen)
    if chosen.engine == "spark":
        table = _answer_of_cluster(account, query, start, end, currency, deadline, live)
    else:
        table = _answer_of_this_machine(account, query, start, end, currency, deadline, live)
    if live.waiting is None:
        _result_cache.put(key, table, settings.LAKE_ANSWERS_BYTES)
        shared_results.put(key, table)
    return table


def _refuse_later_files(segments: Sequence[SegmentFile]) -> None:
    """Raises LakeUnavailable for files whose version this program does not read: a newer one runs beside it."""
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
        table = duckdb.instance(account).execute(sql, deadline, tables)
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
            path = store.local(*(segment.rollup or (segment.path, segment.checksum)))
        except (OSError, DamagedFile) as error:
            raise UnreadableFile(segment.path) from error
        files.append(File(path, segment.columns))
    return files


def result_cache_bytes() -> int:
    """Of the answers that this process keeps."""
    return _result_cache.bytes


def _forget_after_fork() -> None:
    """What was kept stays the parent's: its lock may be held by a thread that only the parent has."""
    global _result_cache
    _result_cache = QueryResultCache()


_result_cache = QueryResultCache()
os.register_at_fork(after_in_child=_forget_after_fork)
