"""What counts at one moment: the live segments of an account and, for usage, the events that wait in the inbox.

Both come from one PostgreSQL statement and so from one snapshot at any isolation level: a flush that moves events from
the inbox to a segment in one transaction is seen before or after, never in between, and every event counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.csv as csv
from django.db import connection
from psycopg import sql

from accounts.models import Account
from finops.lake import queries, schema
from finops.lake.queries import SegmentFile
from finops.lake.schema import Kind


@dataclass(frozen=True)
class Snapshot:
    """The files to read, and the events that are in no file yet: a table of the asked columns, None without any."""

    files: list[SegmentFile]
    waiting: pa.Table | None


def take(account: Account, kind: Kind, start: date, end: date, columns: Sequence[str]) -> Snapshot:
    """What a query over these days (inclusive) reads of `columns`: one statement for either kind."""
    if kind is Kind.COST:
        return Snapshot(queries.segment_files(account, kind, start, end, columns), None)
    return _parsed(_copied(_statement(account, start, end, columns)), columns)


_EVERY: Final = sql.SQL(
    "COPY ("
    "SELECT path, checksum, ("
    "SELECT string_agg(CASE WHEN columns ? wanted.name THEN '1' ELSE '0' END, '' ORDER BY wanted.place) "
    "FROM unnest({names}::text[]) WITH ORDINALITY AS wanted(name, place)) AS has, {nothing} "
    "FROM lake_lakesegment WHERE account_id = {account} AND kind = 'usage' AND retired_at IS NULL "
    "AND first_day <= {end}::date AND last_day >= {start}::date "
    "UNION ALL "
    "SELECT NULL, NULL, NULL, {values} FROM lake_usageinbox WHERE account_id = {account} "
    "AND event_time >= {start}::timestamp AT TIME ZONE 'UTC' "
    "AND event_time < ({end}::date + 1)::timestamp AT TIME ZONE 'UTC'"
    ") TO STDOUT (FORMAT csv)"
)
_MICROSECONDS: Final = "(extract(epoch FROM {}) * 1000000)::bigint"
_VALUES: Final[dict[str, str]] = {
    # Numbers since 1970 and no text: how a date is written follows the server's settings.
    "event_time": _MICROSECONDS.format("event_time"),
    "received_at": _MICROSECONDS.format("received_at"),
    "day": "(event_time AT TIME ZONE 'UTC')::date - date '1970-01-01'",
    "source": "source_id::text",
}
_MANIFEST: Final = ("path", "checksum", "has")
_TYPES: Final = {field.name: field.type for field in schema.USAGE_SCHEMA}
_READ_AS: Final = {pa.timestamp("us", tz="UTC"): pa.int64(), pa.date32(): pa.int32()}


def _statement(account: Account, start: date, end: date, columns: Sequence[str]) -> str:
    values = [_value(column) for column in columns]
    statement = _EVERY.format(
        account=sql.Literal(account.pk),
        start=sql.Literal(start.isoformat()),
        end=sql.Literal(end.isoformat()),
        names=sql.Literal(list(columns)),
        nothing=sql.SQL(", ").join([sql.NULL] * len(columns)),
        values=sql.SQL(", ").join(values),
    )
    return statement.as_string(None)


def _value(column: str) -> sql.Composable:
    if schema.is_key_column(column):
        return _dimension(schema.dimension_key(column))
    return sql.SQL(_VALUES[column]) if column in _VALUES else sql.Identifier(column)


def _dimension(key: str) -> sql.Composable:
    if any(char == "\x00" or "\ud800" <= char <= "\udfff" for char in key):
        return sql.SQL("NULL::text")  # no text in PostgreSQL has these, so no event has the key
    return sql.SQL("dimensions ->> {}").format(sql.Literal(key))


def _copied(statement: str) -> bytes:
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        return b"".join(copy)


def _parsed(data: bytes, columns: Sequence[str]) -> Snapshot:
    if not data:
        return Snapshot([], None)
    types = {name: _TYPES.get(name, pa.string()) for name in columns}
    table = csv.read_csv(
        pa.BufferReader(data),
        # One block: a row may be longer than any fixed size of blocks.
        read_options=csv.ReadOptions(column_names=[*_MANIFEST, *columns], block_size=len(data) + 1),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        # PostgreSQL writes null as nothing and an empty text as "".
        convert_options=csv.ConvertOptions(
            column_types={
                **dict.fromkeys(_MANIFEST, pa.string()),
                **{name: _READ_AS.get(type_, type_) for name, type_ in types.items()},
            },
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    manifest = table.select(_MANIFEST).drop_null().to_pylist()
    files = sorted((_file(row, columns) for row in manifest), key=lambda file: file.path)
    return Snapshot(files, _waiting(table, types) if len(files) < table.num_rows else None)


def _file(row: dict[str, str], columns: Sequence[str]) -> SegmentFile:
    has = frozenset(name for name, mark in zip(columns, row["has"], strict=True) if mark == "1")
    return SegmentFile(row["path"], row["checksum"], has)


def _waiting(table: pa.Table, types: dict[str, pa.DataType]) -> pa.Table:
    events = table.filter(table["path"].is_null()).select(list(types))
    return events.cast(pa.schema(list(types.items())))
