"""The database at one moment: every table by COPY, inside one REPEATABLE READ transaction.

COPY's text format is the same in every version of PostgreSQL, and needs no pg_dump of the server's version (ADR 0054). The
schema is not dumped: migrations create it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from finops.backup.models import BackupRun
from finops.backup.objects import ObjectStore
from finops.backup.records import SequenceRecord, TablePart, TableRecord

PART_BYTES: Final = 32 * 2**20
"""Text bytes of one object: memory is about three times as much."""

LARGE_TABLE_ROWS: Final = 10_000
"""The progress names only tables of at least this size."""

NOT_DUMPED: Final = frozenset({MigrationRecorder.Migration._meta.db_table, BackupRun._meta.db_table})
"""Tables that are not dumped: a restore migrates to the state in the record, and backup runs belong to a server."""

_SETTINGS: Final = {
    "idle_in_transaction_session_timeout": "0",
    "statement_timeout": "0",
    # Rows in the order of the table: parts that did not change are equal to those of the last backup.
    "synchronize_seqscans": "off",
}
_TABLES: Final = """
SELECT c.relname, array(
    SELECT a.attname::text FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum)
FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname
"""
_SEQUENCES: Final = """
SELECT t.relname, a.attname, s.last_value
FROM pg_class q
JOIN pg_depend d ON d.objid = q.oid AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.deptype IN ('a', 'i')
JOIN pg_class t ON t.oid = d.refobjid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
JOIN pg_sequences s ON s.schemaname = current_schema() AND s.sequencename = q.relname
WHERE q.relkind = 'S' AND q.relnamespace = current_schema()::regnamespace AND s.last_value IS NOT NULL
ORDER BY t.relname, a.attname
"""
_LIVE_FILES: Final = """
SELECT account_id, kind, path, rows, checksum, bytes FROM lake_lakesegment WHERE retired_at IS NULL
UNION ALL
SELECT r.account_id, 'rollup', r.path, r.rows, r.checksum, r.bytes
FROM lake_lakesummary r JOIN lake_lakesegment s ON s.id = r.segment_id WHERE s.retired_at IS NULL
ORDER BY path
"""


@dataclass(frozen=True)
class LiveFile:
    """A file that the manifest names at the moment of the snapshot."""

    account_id: int
    kind: str
    path: str
    rows: int
    sha256: str
    bytes: int


@dataclass(frozen=True)
class DatabaseSnapshot:
    """The database at `taken_at`, including all data committed before."""

    cursor: Any
    taken_at: datetime
    postgresql: str

    def live_files(self) -> list[LiveFile]:
        """The current files of the lake."""
        self.cursor.execute(_LIVE_FILES)
        return [LiveFile(*row) for row in self.cursor.fetchall()]

    def migrations(self) -> dict[str, list[str]]:
        """Applied migrations by app."""
        self.cursor.execute("SELECT app, array_agg(name::text) FROM django_migrations GROUP BY app")
        return {app: sorted(names) for app, names in sorted(self.cursor.fetchall())}

    def sequences(self) -> list[SequenceRecord]:
        """The next values of sequences. Sequences are not part of a snapshot: these are current values, never smaller than
        the snapshot's."""
        self.cursor.execute(_SEQUENCES)
        return [SequenceRecord(*row) for row in self.cursor.fetchall()]

    def dump_tables(self, store: ObjectStore, progress: Callable[[str], None]) -> list[TableRecord]:
        """Store the rows of every table."""
        self.cursor.execute(_TABLES)
        records = []
        for name, columns in self.cursor.fetchall():
            if name in NOT_DUMPED:
                continue
            parts = [_store_part(store, text) for text in self._texts(name, columns)]
            records.append(TableRecord(name, columns, sum(part.rows for part in parts), parts))
            if records[-1].rows >= LARGE_TABLE_ROWS:
                progress(f"Table {name}: {records[-1].rows:,} rows")
        return records

    def _texts(self, name: str, columns: list[str]) -> Iterator[bytes]:
        query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(
            sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(name)
        )
        blocks: list[bytes] = []
        size = 0
        with self.cursor.copy(query) as copy:
            for block in copy:  # a row each
                blocks.append(bytes(block))
                size += len(block)
                if size >= PART_BYTES:
                    yield b"".join(blocks)
                    blocks, size = [], 0
        if blocks:
            yield b"".join(blocks)


@contextmanager
def snapshot() -> Iterator[DatabaseSnapshot]:
    """Open a transaction that sees the database of one moment while the block lasts. Meanwhile vacuum removes nothing
    newer, so the block ends as soon as the tables are read."""
    own = connection.copy()
    try:
        own.set_autocommit(False)
        with own.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for setting, value in _SETTINGS.items():
                cursor.execute(f"SET LOCAL {setting} = {value}")
            # The statement's time is before its snapshot: nothing answered before it is left out.
            cursor.execute("SELECT statement_timestamp(), current_setting('server_version')")
            yield DatabaseSnapshot(cursor, *cursor.fetchone())
        own.rollback()
    finally:
        own.close()


def _store_part(store: ObjectStore, text: bytes) -> TablePart:
    compressed = pa.Codec("zstd", compression_level=3).compress(text, asbytes=True)
    # COPY writes a newline within a value as \\n, so lines are rows.
    return TablePart(store.put_bytes(compressed), text.count(b"\n"), len(text))


def part_text(store: ObjectStore, part: TablePart) -> bytes:
    """Return the rows of a part as COPY wrote them. Raises DamagedObject."""
    text: bytes = pa.Codec("zstd").decompress(store.read(part.object), part.text_bytes, asbytes=True)
    return text
