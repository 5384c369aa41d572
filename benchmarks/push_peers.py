"""Peers of the push benchmark: what PostgreSQL takes of the same events from a program that does nothing else.

No server that stores events in rows could be faster than `copy_rate`, and none that also stores an id of each under a
unique index faster than `copy_with_ids_rate`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import NamedTuple
from uuid import uuid4

import psycopg
from django.db import connection
from msgspec import structs

from benchmarks.push_events import BATCH, bodies, with_event_ids
from finops.lib import clock
from finops.lib.prepared_statements import UuidArray
from ingestion import parsing

_EVENTS = """
DROP TABLE IF EXISTS bench_event;
CREATE TABLE bench_event (
    account_id bigint NOT NULL, source_id bigint NOT NULL, batch uuid NOT NULL, position integer NOT NULL,
    received_at timestamptz NOT NULL, event_time timestamptz NOT NULL, customer_id text NOT NULL, metric text NOT NULL,
    unit text, quantity numeric(38, 12) NOT NULL, dimensions json, event_id text
) PARTITION BY HASH (account_id);
DROP TABLE IF EXISTS bench_event_id;
CREATE TABLE bench_event_id (LIKE ingestion_usageeventid INCLUDING INDEXES)
"""
_PARTITION = "CREATE TABLE bench_event_{} PARTITION OF bench_event FOR VALUES WITH (MODULUS 16, REMAINDER {})"
_COLUMNS = (
    *("account_id", "source_id", "batch", "position", "received_at", "event_time", "customer_id"),
    *("metric", "unit", "quantity", "dimensions"),
)
# Faster than COPY into a table with the index: 3.8 ms of PostgreSQL's processor time for a thousand ids instead of 4.2.
_IDS = """
INSERT INTO bench_event_id (account_id, digest, content, batch, received_on)
SELECT 1, given.digest, given.content, %s, %s FROM unnest(%s, %s) AS given(digest, content)
"""


class CopyBuffer(NamedTuple):
    """Columns of bench_event, and rows in PostgreSQL's binary format."""

    columns: str
    data: bytes

    @property
    def statement(self) -> str:
        return f"COPY bench_event ({self.columns}) FROM STDIN (FORMAT binary)"


class CopyBuffers(NamedTuple):
    """The events of one push, without and with their event_id."""

    plain: CopyBuffer
    with_ids: CopyBuffer


def copy_buffers() -> CopyBuffers:
    """The events of one push as PostgreSQL itself writes them, of a table with a row an event, in 16 partitions, without index."""
    push = parsing.check_batch(with_event_ids(bodies(BATCH, count=1)[0], f"{7919:016x}"))
    batch, now = uuid4(), clock.now()
    with connection.cursor() as cursor:
        for statement in (_EVENTS, *(_PARTITION.format(n, n) for n in range(16))):
            cursor.execute(statement)
        with cursor.copy(f"COPY bench_event ({', '.join(_COLUMNS)}, event_id) FROM STDIN") as copy:
            for event, event_id in zip(push.events, push.event_ids, strict=True):
                copy.write_row((1, 1, batch, event.position, now, *structs.astuple(event)[1:], event_id))
    return CopyBuffers(_written(", ".join(_COLUMNS)), _written(", ".join((*_COLUMNS, "event_id"))))


def _written(columns: str) -> CopyBuffer:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY (SELECT {columns} FROM bench_event) TO STDOUT (FORMAT binary)") as copy,
    ):
        return CopyBuffer(columns, b"".join(bytes(part) for part in copy))


def copy_rate(buffer: CopyBuffer, *, connections: int, seconds: float) -> float:
    """Return the events a second of prebuilt buffers, a transaction each."""
    return _rate(buffer, connections, seconds, lambda _cursor: None)


def copy_with_ids_rate(buffer: CopyBuffer, *, connections: int, seconds: float) -> float:
    """Return the same with a new id for each event in the same transaction, in sorted order: random bytes, where a server hashes."""
    return _rate(buffer, connections, seconds, _insert_ids)


def _insert_ids(cursor: psycopg.Cursor) -> None:
    random = os.urandom(32 * BATCH)
    digests = sorted(random[at : at + 16] for at in range(0, 16 * BATCH, 16))
    contents = [random[at : at + 16] for at in range(16 * BATCH, 32 * BATCH, 16)]
    cursor.execute(_IDS, (uuid4(), date(2026, 11, 20), UuidArray(digests), UuidArray(contents)))


def _rate(
    buffer: CopyBuffer, connections: int, seconds: float, insert_ids: Callable[[psycopg.Cursor], None]
) -> float:
    def work(ends: float) -> int:
        turns = 0
        with psycopg.connect(os.environ["DATABASE_URL"], prepare_threshold=0) as own:
            while time.perf_counter() < ends:
                with own.cursor() as cursor:
                    with cursor.copy(buffer.statement) as copy:
                        copy.write(buffer.data)
                    insert_ids(cursor)
                own.commit()
                turns += 1
        return turns

    truncate()
    start = time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        turns = sum(pool.map(work, [start + seconds] * connections))
    return turns * BATCH / (time.perf_counter() - start)


def truncate() -> None:
    """Remove pending events of both sides. Ids stay, because a table of ids is never empty."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE lake_usageinbox, bench_event")
