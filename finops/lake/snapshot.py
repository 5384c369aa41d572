"""What counts at one moment: the live segments of an account and, for usage, the events that wait in the inbox.

Both come from one PostgreSQL statement and so from one snapshot at any isolation level: a flush that moves events from
the inbox to a segment in one transaction is seen before or after, never in between, and every event counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as csv
from django.db import connection

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
    found = _selected(account, start, end, columns)
    files = sorted((_file(row, columns) for row in found if row[0]), key=lambda file: file.path)
    events = "".join(row[3] for row in found if row[3]).encode()
    return Snapshot(files, parsed(events, columns) if events else None)


_EVERY: Final = """
SELECT path, checksum, (
    SELECT string_agg(CASE WHEN columns ? wanted.name THEN '1' ELSE '0' END, '' ORDER BY wanted.place)
    FROM unnest(%s::text[]) WITH ORDINALITY AS wanted(name, place)
) AS has, NULL AS events
FROM lake_lakesegment
WHERE account_id = %s AND kind = 'usage' AND retired_at IS NULL AND first_day <= %s AND last_day >= %s
UNION ALL
SELECT NULL, NULL, NULL, string_agg(concat({values}, E'\n'), '')
FROM lake_usageinbox
WHERE account_id = %s AND event_time < (%s::date + 1)::timestamp AT TIME ZONE 'UTC'
    AND event_time >= %s::timestamp AT TIME ZONE 'UTC'
GROUP BY uuid_hash(batch) & 15
"""
"""Many events a row, as CSV: 50,000 take a third of the time that COPY needs for a row each, most of it in Python.
In groups, because no value of PostgreSQL is larger than 1 GB."""

_AND: Final = ", ',', "
_MICROSECONDS: Final = "(extract(epoch FROM {}) * 1000000)::bigint"
_TEXT: Final = """'"' || replace({}, '"', '""') || '"'"""
_VALUES: Final[dict[str, str]] = {
    # Numbers since 1970 and no text: how a date is written follows the server's settings.
    "event_time": _MICROSECONDS.format("event_time"),
    "received_at": _MICROSECONDS.format("received_at"),
    "day": "(event_time AT TIME ZONE 'UTC')::date - date '1970-01-01'",
    "source": "source_id",
    "customer_id": _TEXT.format("customer_id"),
    "metric": _TEXT.format("metric"),
    "unit": _TEXT.format("unit"),
    "quantity": "quantity",
    "batch": "batch",
    "position": "position",
}
_TYPES: Final = {field.name: field.type for field in schema.USAGE_SCHEMA}
_READ_AS: Final = {pa.timestamp("us", tz="UTC"): pa.int64(), pa.date32(): pa.int32()}


def _selected(account: Account, start: date, end: date, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    keys = [_stored_text(column) for column in columns if schema.is_key_column(column)]
    values = [_VALUES.get(column, _TEXT.format("(dimensions ->> %s)")) for column in columns]
    # concat takes null as nothing, and at most 100 arguments.
    some = [f"concat({_AND.join(values[at : at + 50])})" for at in range(0, len(values), 50)]
    statement = _EVERY.format(values=_AND.join(some))
    given: list[Any] = [list(columns), account.pk, end, start, *keys, account.pk, end, start]
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def _stored_text(column: str) -> str | None:
    """The dimension key of a column; null when no text in PostgreSQL has its characters, so that no event has it."""
    key = schema.dimension_key(column)
    return None if any(char == "\x00" or "\ud800" <= char <= "\udfff" for char in key) else key


def _file(row: tuple[Any, ...], columns: Sequence[str]) -> SegmentFile:
    path, checksum, has, _ = row
    present = frozenset(name for name, mark in zip(columns, has, strict=True) if mark == "1")
    return SegmentFile(path, checksum, present)


def parsed(data: bytes, columns: Sequence[str]) -> pa.Table:
    """What `_EVERY` gave as CSV, with the types of the columns."""
    types = {name: _TYPES.get(name, pa.string()) for name in columns}
    table = read_csv(data, {name: _READ_AS.get(type_, type_) for name, type_ in types.items()})
    return table.cast(pa.schema(list(types.items())))


def read_csv(data: bytes, types: dict[str, pa.DataType], *, quote: str = '"') -> pa.Table:
    """Rows of these columns, where null is nothing and every text is in quotes."""
    return csv.read_csv(
        pa.BufferReader(data),
        # One block: a row may be longer than any fixed size of blocks. A row of one null is an empty line.
        read_options=csv.ReadOptions(column_names=list(types), block_size=len(data) + 1),
        parse_options=csv.ParseOptions(quote_char=quote, newlines_in_values=True, ignore_empty_lines=False),
        # Null is nothing and an empty text is "".
        convert_options=csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
