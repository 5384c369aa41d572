"""The facts that count at one moment: the live segments of an account and, for usage, the events that wait in the
inbox.

Both come from one PostgreSQL statement and so from one snapshot at any isolation level: a flush that moves events
from the inbox to a segment in one transaction is seen entirely or not at all, and every event counts once. Cost is
only in segments, and those of a manifest are of one moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from accounts.models import Account
from finops.lake import queries, schema
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest, SegmentFile, manifest_files
from finops.lake.usage import inbox, payload
from finops.lake.usage.payload import StoredPayload
from finops.lib import prepared_statements


@dataclass(frozen=True)
class Snapshot:
    """The files to read, and the events that are not in a file yet: a table of the needed columns, or None without
    events."""

    files: list[SegmentFile]
    waiting: pa.Table | None


def take(
    account: Account,
    kind: Kind,
    start: date,
    end: date,
    columns: Sequence[str],
    manifest: Manifest | None = None,
    *,
    allow_rollups: bool = False,
) -> Snapshot:
    """What a query over these days (inclusive) reads of `columns`, in one statement; no statement for cost if an
    earlier question used the same `manifest`, whose files it reads.

    `allow_rollups`: include rollups of cost that have all of the columns.
    """
    if kind is Kind.COST:
        return Snapshot(_cost_files(account, start, end, columns, allow_rollups, manifest), None)
    rows = _fetch_rows(account, start, end, columns)
    files = sorted((_file(row, columns) for row in rows if row[0]), key=lambda file: file.path)
    values = [inbox.payload_of_row(row[5:]) for row in rows if row[5]]
    return Snapshot(files, _waiting(values, start, end, columns) if values else None)


def _cost_files(
    account: Account,
    start: date,
    end: date,
    columns: Sequence[str],
    allow_rollups: bool,
    manifest: Manifest | None,
) -> list[SegmentFile]:
    if manifest is not None:
        files = manifest_files(account, manifest, start, end, columns, allow_rollups=allow_rollups)
        if files is not None:
            return files
    return queries.segment_files(account, Kind.COST, start, end, columns, allow_rollups=allow_rollups)


_EVERY: Final = f"""
SELECT path, checksum, (
    SELECT string_agg(CASE WHEN columns ? wanted.name THEN '1' ELSE '0' END, '' ORDER BY wanted.place)
    FROM unnest(%(columns)s::text[]) WITH ORDINALITY AS wanted(name, place)
) AS has, bytes, rows, NULL AS payload, NULL AS size, NULL AS events
FROM lake_lakesegment
WHERE account_id = %(account)s AND kind = 'usage' AND retired_at IS NULL AND first_day <= %(end)s AND last_day >= %(start)s
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, * FROM (
    WITH waiting AS NOT MATERIALIZED (
        SELECT batch, payload, size, events FROM lake_usageinbox
        WHERE account_id = %(account)s AND first_day <= %(end)s AND last_day >= %(start)s
    ) {inbox.packed_payloads_sql("waiting")}
) AS packed
"""  # noqa: S608 - no text from outside


def _fetch_rows(account: Account, start: date, end: date, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    params = {"account": account.pk, "start": start, "end": end, "columns": list(columns)}
    return prepared_statements.fetch(_EVERY, params)


def _file(row: tuple[Any, ...], columns: Sequence[str]) -> SegmentFile:
    path, checksum, has, size, count = row[:5]
    present = frozenset(name for name, mark in zip(columns, has, strict=True) if mark == "1")
    return SegmentFile(path, checksum, present, bytes=size, rows=count)


def _waiting(values: list[StoredPayload], start: date, end: date, columns: Sequence[str]) -> pa.Table | None:
    """The waiting events of these days, in these columns; None without any."""
    base = [column for column in columns if not schema.is_key_column(column)]
    keys = [column for column in columns if schema.is_key_column(column)]
    needed = {*base, *([payload.DIMENSIONS] if keys else [])} - {"day"}
    table = payload.decode(values, sorted(needed))
    first, last = pc.min_max(table["day"]).as_py().values()
    if first < start or last > end:
        table = table.filter((pc.field("day") >= start) & (pc.field("day") <= end))
    if not table.num_rows:
        return None
    selection = table.select(base)
    if keys:
        key_names = [schema.dimension_key(column) for column in keys]
        for column, of_key in zip(
            keys, payload.dimension_values(table[payload.DIMENSIONS], key_names), strict=True
        ):
            selection = selection.append_column(column, of_key)
    return selection.select(list(columns))
