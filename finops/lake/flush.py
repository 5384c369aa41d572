"""The flush: what waits in the inbox becomes segments.

Each chunk is one transaction: its rows leave the inbox, its files are written durably, the manifest names them,
commit. A crash before the commit leaves the inbox whole and files that no row names; after it, the segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

import pyarrow as pa
from django.db import connection, transaction

from accounts.models import Account
from finops.lake import locks, segments, snapshot, usage_table
from finops.lake.schema import QUANTITY, Kind
from finops.lake.segments import NewSegment
from finops.lake.usage_segments import name_usage, new_files

CHUNK_EVENTS: Final = 250_000
CHUNK_BYTES: Final = 64 * 2**20
"""What one transaction moves at most, in events and in bytes of dimensions. Memory is about 1.5 KB an event, 400 MB
for a chunk of the largest size, however much waits."""

VACUUM_EVENTS: Final = 20_000
"""After so many moved events the inbox is vacuumed."""

LARGE_INBOX: Final = 128 * 2**20
"""Bytes beyond which a vacuum also makes its files smaller."""


@dataclass(frozen=True)
class Flushed:
    """What a flush moved, in events and new segments, and which months of which sources these are of."""

    events: int
    segments: int
    months: frozenset[tuple[int, date]]


def flush_usage(account: Account, *, wait: bool = True) -> Flushed:
    """Move the account's waiting events into segments, one for each source and month of a chunk.

    What is pushed meanwhile may stay. Two flushes of one account take turns, chunk by chunk; without `wait` one that
    meets another leaves the rest to it. Raises what the storage raises; then everything that was not committed still
    waits, and no file of it is left.
    """
    left = waiting(account)
    new: list[NewSegment] = []
    while left > 0:
        chunk = _flush_chunk(account, wait=wait)
        if not chunk:
            break
        moved = sum(segment.rows for segment in chunk)
        new, left = new + chunk, left - moved
        if moved >= VACUUM_EVENTS and not connection.in_atomic_block:
            _vacuum()
    return Flushed(
        sum(segment.rows for segment in new),
        len(new),
        frozenset((segment.source_id, segment.month) for segment in new),
    )


def waiting(account: Account) -> int:
    """How many events of the account wait. It reads the account's sixteenth of the inbox: 10 ms for 50,000 rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM lake_usageinbox WHERE account_id = %s", [account.pk])
        return int(cursor.fetchone()[0])


def _vacuum() -> None:
    """Give the room of moved events back to the inbox, and after an outage to the disk.

    PostgreSQL's own vacuum looks once a minute. An account at its full limit writes a million rows in that time, and
    every question would read past them. Shrinking the files needs a moment alone with them, so only large ones do.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree('lake_usageinbox')")
        shrink = cursor.fetchone()[0] > LARGE_INBOX
        cursor.execute(f"VACUUM (SKIP_LOCKED, TRUNCATE {shrink}, PARALLEL 0) lake_usageinbox")


def _flush_chunk(account: Account, *, wait: bool) -> list[NewSegment]:
    with transaction.atomic():
        if wait:
            locks.lock_usage(account)
        elif not locks.try_lock_usage(account):
            return []
        groups = _taken(account)
        with new_files() as new:
            while groups:  # each is let go before the next is read: together they take three times the room
                for segment in _written(account, *groups.pop()):
                    new.append(segment)
            name_usage(account, new)
    return new


_TYPES: Final = {
    "event_time": pa.timestamp("us", tz="UTC"),
    "customer_id": pa.string(),
    "metric": pa.string(),
    "unit": pa.string(),
    "quantity": QUANTITY,
    "received_at": pa.timestamp("us", tz="UTC"),
    "batch": pa.string(),
    "position": pa.int32(),
    usage_table.DIMENSIONS: pa.string(),
}
# In single quotes, because JSON has few of them: one within a text is written twice.
_QUOTE: Final = "'"
_TEXTS: Final = {
    name: f"'''' || replace({name}::text, '''', '''''') || ''''"
    for name in ("customer_id", "metric", "unit", usage_table.DIMENSIONS)
}
_VALUES: Final = ", ',', ".join(_TEXTS.get(column, column) for column in _TYPES)
# Times as text: half of what numbers cost in PostgreSQL. How it writes them follows the server's settings.
_WRITE_TIMES: Final = "SET LOCAL datestyle = 'ISO'; SET LOCAL timezone = 'UTC'"
_TAKE: Final = f"""
WITH moved AS (
    DELETE FROM lake_usageinbox
    WHERE account_id = %(account)s AND ctid = ANY (ARRAY(
        SELECT ctid FROM (
            SELECT ctid, sum(octet_length(dimensions::text)) OVER before AS bytes
            FROM lake_usageinbox WHERE account_id = %(account)s WINDOW before AS (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) LIMIT %(events)s
        ) AS first WHERE bytes <= %(bytes)s OR bytes IS NULL
    ))
    RETURNING *
)
SELECT source_id, date_trunc('month', event_time AT TIME ZONE 'UTC')::date, string_agg(concat({_VALUES}, E'\\n'), '')
FROM moved GROUP BY 1, 2
"""  # noqa: S608 - our own column names
"""The rows of a chunk as one CSV for each source and month: many events a row, as `snapshot` reads them too.

A ctid is a place in one partition, and the rows of an account are in one partition.
"""


def _taken(account: Account) -> list[tuple[int, date, str]]:
    asked = {"account": account.pk, "events": CHUNK_EVENTS, "bytes": CHUNK_BYTES}
    with connection.cursor() as cursor:
        cursor.execute(_WRITE_TIMES)
        cursor.execute(_TAKE, asked)
        rows: list[tuple[int, date, str]] = cursor.fetchall()
    return rows


def _written(account: Account, source_id: int, month: date, events: str) -> Iterator[NewSegment]:
    for part in usage_table.parts(_table(source_id, events)):
        yield segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=source_id,
            month=month,
            batches=part.batches,
            schema=part.schema,
        )


def _table(source_id: int, events: str) -> pa.Table:
    table = snapshot.read_csv(events.encode(), _TYPES, quote=_QUOTE)
    table = table.append_column("day", table["event_time"].cast(pa.date32()))
    return table.append_column("source", pa.repeat(str(source_id), table.num_rows))
