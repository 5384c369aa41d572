"""Writing rollups of a segment of cost: equal lines added up.

A bill has a line for each resource and hour; most queries are about days, services, accounts and tags. A rollup is a file
without some of the columns, in which lines that are equal in the others are one line with their sums. Positive, negative
and missing amounts are kept apart, so sums and tests of the sign are exactly the same over a rollup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from accounts.models import Account
from finops.lake import schema
from finops.lake.engine import compiler, engine
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.lake_version import file_ending
from finops.lake.storage.manifest import SegmentFile
from finops.lake.storage.storage import storage
from finops.lib.answers import fit_to_size

GROUP_ROWS: Final = 32_768
"""Rows of a Parquet row group: small, so that the days of a query are in few groups."""

MANY_VALUES: Final = 50
"""A column with more values than the number of lines divided by this is nearly unique for each line, like a resource."""

RESOURCE_COLUMNS: Final = frozenset(
    (
        *("resource_id", "resource_name", "allocated_method_id", "allocated_method_details"),
        *("allocated_resource_id", "allocated_resource_name", "allocated_tags", "contract_applied"),
        *("charge_period_start", "charge_period_end", "billing_period_start", "billing_period_end"),
        *("invoice_detail_id", "capacity_reservation_id", "capacity_reservation_status"),
        *("commitment_program_eligibility_details", "sku_price_details"),
        # Unit prices cannot be added up.
        *("list_unit_price", "contracted_unit_price", "pricing_currency_list_unit_price"),
        "pricing_currency_contracted_unit_price",
    )
)
METER_COLUMNS: Final = frozenset(
    (
        *(
            "usage_type",
            "sku_id",
            "sku_meter",
            "sku_price_id",
            "charge_description",
            "resource_type",
            "actor",
        ),
        *("consumed_unit", "consumed_quantity", "pricing_unit", "pricing_quantity", "availability_zone"),
    )
)


@dataclass(frozen=True)
class Level:
    """The columns that one rollup drops. It is written only if it has at most `share` of the segment's lines."""

    dropped_columns: frozenset[str]
    share: float


LEVELS: Final = (Level(RESOURCE_COLUMNS, share=0.33), Level(RESOURCE_COLUMNS | METER_COLUMNS, share=0.17))
"""From the finest: each level is computed from the previous one if that was written."""


@dataclass(frozen=True)
class NewRollup:
    """A finished file that no row of the manifest names yet."""

    path: str
    dropped_columns: list[str]
    rows: int
    bytes: int
    checksum: str


def write_rollups(
    account: Account, segment: LakeSegment, levels: Sequence[Level] = LEVELS
) -> list[NewRollup]:
    """Write the worthwhile rollups of a segment, durably; none is in use yet.

    Tag columns that would leave too many lines are dropped, those with most values first. Cost: 5 s of one core a million
    lines. Raises LakeUnavailable, and the errors of DuckDB, Arrow and the storage; then no file stays.
    """
    rollups: list[NewRollup] = []
    source = _SourceFile(account, segment.path, segment.checksum, tuple(segment.columns))
    try:
        for level in levels:
            columns = _rollup_columns(source, level, int(segment.rows * level.share))
            if not columns:
                continue
            new = _write(segment, source, columns)
            rollups.append(new)
            source = _SourceFile(account, new.path, new.checksum, columns)
    except BaseException:
        discard(rollups)
        raise
    return rollups


def discard(new: Sequence[NewRollup]) -> None:
    """Remove files that the manifest will not name."""
    for rollup in new:
        storage().delete(rollup.path)


@dataclass(frozen=True)
class _SourceFile:
    """A file that a rollup is computed from."""

    account: Account
    path: str
    checksum: str
    columns: tuple[str, ...]

    def file(self) -> list[SegmentFile]:
        return [SegmentFile(self.path, self.checksum, frozenset(self.columns))]


def _rollup_columns(source: _SourceFile, level: Level, max_rows: int) -> tuple[str, ...]:
    """The columns of the rollup, in the file's order; empty when it would have more rows than `max_rows`."""
    columns = [name for name in source.columns if name not in level.dropped_columns]
    texts = [name for name in columns if name not in _amounts(columns)]
    if _group_counts(source, [texts])[0] <= max_rows:
        return tuple(columns)
    always = [name for name in texts if not schema.is_key_column(name)]
    left_out = set(texts) - set(
        _fitting_columns(source, always, [name for name in texts if name not in always], max_rows)
    )
    return tuple(name for name in columns if name not in left_out) if len(left_out) < len(texts) else ()


def _fitting_columns(
    source: _SourceFile, base_columns: list[str], tags: list[str], max_rows: int
) -> list[str]:
    """Find by bisection as many columns as give at most `max_rows` groups; none when the required columns alone give more."""
    values = dict(zip(tags, _group_counts(source, [[name] for name in tags]), strict=True)) if tags else {}
    few = [name for name in tags if values[name] <= max_rows // MANY_VALUES]
    few.sort(key=lambda name: (values[name], name))
    candidate = fit_to_size(
        lambda count: base_columns + few[:count],
        lambda columns: _group_counts(source, [columns])[0] <= max_rows,
        len(few),
        least=0,
    )
    return candidate or []


def _group_counts(source: _SourceFile, groupings: Sequence[Sequence[str]]) -> list[int]:
    statement = partial(compiler.group_counts_sql, groupings=groupings)
    with engine.read_batches(source.file(), statement, account=source.account) as reader:
        row = reader.read_all().to_pylist()[0]
    return list(row.values())


def _amounts(columns: Sequence[str]) -> list[str]:
    base = schema.base_schema(Kind.COST)
    return [name for name in columns if name in base.names and base.field(name).type == schema.MONEY]


def _write(segment: LakeSegment, source: _SourceFile, columns: tuple[str, ...]) -> NewRollup:
    store = storage()
    file = store.new_file()
    try:
        rows = _fill(file, source, columns)
        size, checksum = file.stat().st_size, segments.sha256(file)
        folder = f"{segment.account_id}/cost/{segment.month:%Y-%m}"
        path = f"{folder}/{segment.source_id}-{uuid4().hex}-s{file_ending()}"
        store.put(file, path)
    finally:
        file.unlink(missing_ok=True)
    dropped_columns = [name for name in segment.columns if name not in columns]
    return NewRollup(path, dropped_columns, rows, size, checksum)


def _fill(file: Path, source: _SourceFile, columns: tuple[str, ...]) -> int:
    full = schema.base_schema(Kind.COST)
    types = pa.schema([full.field(name) if name in full.names else (name, pa.string()) for name in columns])
    day = schema.day_column(Kind.COST)
    statement = partial(compiler.rollup_sql, columns=columns, amounts=_amounts(columns), order=day)
    options = {
        "compression": "zstd",
        "compression_level": 1,
        "store_schema": False,
        "write_statistics": [day],
    }
    with (
        engine.read_batches(source.file(), statement, account=source.account) as reader,
        pq.ParquetWriter(file, types, **options) as writer,
    ):
        for table in segments.row_groups((batch.cast(types) for batch in reader), types, GROUP_ROWS):
            writer.write_table(table, row_group_size=GROUP_ROWS)
    return int(pq.read_metadata(file).num_rows)
