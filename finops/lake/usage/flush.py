"""The flush: events in the inbox become segments.

Each chunk is one transaction: its rows leave the inbox, its files are written durably, the manifest names them, commit. A
crash before the commit leaves the inbox whole and files that no row names; after it, the segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from django.db import connection, transaction

from accounts.models import Account
from finops.lake.schema import Kind
from finops.lake.storage import locks, segments
from finops.lake.storage.segments import NewSegment
from finops.lake.usage import inbox, payload, usage_table
from finops.lake.usage.usage_segments import insert_usage_rows, new_files
from finops.lib import prepared_statements
from finops.lib.telemetry import metrics

CHUNK_EVENTS: Final = 250_000
CHUNK_BYTES: Final = 64 * 2**20
"""The most that one transaction moves, in events and in bytes as they are read, and a push more. Memory is about 0.7 KB an
event, 170 MB for a chunk of 250,000, whatever the size of the inbox."""

VACUUM_EVENTS: Final = 20_000
"""The inbox is vacuumed after this many moved events."""

LARGE_INBOX: Final = 128 * 2**20
"""Above this size in bytes a vacuum also shrinks the inbox's files."""


@dataclass(frozen=True)
class FlushResult:
    """The result of a flush: events moved, new segments, and the months and sources of them."""

    events: int
    segments: int
    months: frozenset[tuple[int, date]]


def flush_usage(account: Account, *, wait: bool = True) -> FlushResult:
    """Move the account's pending events into segments, one for each source and month of a chunk.

    Events pushed meanwhile may stay. Two flushes of one account take turns, chunk by chunk; without `wait` one that meets
    another leaves the rest to it. Raises what the storage raises; then everything that was not committed is still pending,
    and no file of it is left.
    """
    remaining = count_pending(account)
    new: list[NewSegment] = []
    while remaining > 0:
        chunk = _flush_chunk(account, wait=wait)
        if not chunk:
            break
        moved = sum(segment.rows for segment in chunk)
        metrics.FLUSHED.inc(by=moved)
        new, remaining = new + chunk, remaining - moved
        if moved >= VACUUM_EVENTS and not connection.in_atomic_block:
            _vacuum()
    return FlushResult(
        sum(segment.rows for segment in new),
        len(new),
        frozenset((segment.source_id, segment.month) for segment in new),
    )


def count_pending(account: Account) -> int:
    """Count the account's pending events. Reads the account's sixteenth of the inbox, one row a push."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(events), 0) FROM lake_usageinbox WHERE account_id = %s", [account.pk]
        )
        return int(cursor.fetchone()[0])


def _vacuum() -> None:
    """Free the space of moved events for new ones, and after an outage for the disk.

    PostgreSQL's own autovacuum runs once a minute. An account at its full limit writes a million rows in that time, and every
    query would read past them. Shrinking the files needs an exclusive lock for a moment, so only large ones are shrunk.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('lake_usageinbox')")
        shrink = cursor.fetchone()[0] > LARGE_INBOX
        cursor.execute(f"VACUUM (SKIP_LOCKED, TRUNCATE {shrink}, PARALLEL 0) lake_usageinbox")


def _flush_chunk(account: Account, *, wait: bool) -> list[NewSegment]:
    with transaction.atomic():
        if wait:
            locks.lock_usage(account)
        elif not locks.try_lock_usage(account):
            return []
        groups = _take_chunk(account)
        with new_files() as new:
            while groups:  # each is freed before the next is read; all together take three times the memory
                for segment in _write_segments(account, *groups.pop()):
                    new.append(segment)
            insert_usage_rows(account, new)
    return new


_TAKE: Final = f"""
WITH moved AS (
    DELETE FROM lake_usageinbox
    WHERE account_id = %(account)s AND ctid = ANY (ARRAY(
        SELECT ctid FROM (
            SELECT ctid, sum(events) OVER before AS events, sum(coalesce(size, octet_length(payload))) OVER before AS bytes
            FROM lake_usageinbox WHERE account_id = %(account)s
            WINDOW before AS (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ) AS first WHERE bytes IS NULL OR (bytes <= %(bytes)s AND events < %(events)s)
    ))
    RETURNING batch, payload, size, events
) {inbox.packed_payloads_sql("moved")}
"""  # noqa: S608 - no text from outside
"""The rows of a chunk. A ctid is a position in one partition, and the rows of an account are in one partition."""


def _take_chunk(account: Account) -> list[tuple[int, date, pa.Table]]:
    """Take a chunk of the pending events, by source and month."""
    params = {"account": account.pk, "events": CHUNK_EVENTS, "bytes": CHUNK_BYTES}
    values = [inbox.payload_of_row(row) for row in prepared_statements.fetch(_TAKE, params)]
    return list(_by_source_and_month(payload.decode(values))) if values else []


def _by_source_and_month(table: pa.Table) -> Iterator[tuple[int, date, pa.Table]]:
    months = pc.floor_temporal(table["day"], unit="month").cast(pa.date32())
    groups = (
        pa.table({"source": table["source"], "month": months}).group_by(["source", "month"]).aggregate([])
    )
    for source, month in zip(*(groups[name].to_pylist() for name in ("source", "month")), strict=True):
        if groups.num_rows == 1:
            yield int(source), month, table
        else:
            of_group = pc.and_(pc.equal(table["source"], source), pc.equal(months, month))
            yield int(source), month, table.filter(of_group)


def _write_segments(account: Account, source_id: int, month: date, events: pa.Table) -> Iterator[NewSegment]:
    for part in usage_table.split_segments(events):
        yield segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=source_id,
            month=month,
            batches=part.batches,
            schema=part.schema,
        )
