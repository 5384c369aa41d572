"""Writes a cost segment as a FOCUS file: the columns that an import reads, by the names of the specification."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from finops.costs.focus.columns import AMOUNTS, BILLING_PERIOD, CHARGE_PERIOD, TAGS, TEXTS, TIMES
from finops.lake.schema import EXTENSION_PREFIX, MOMENT, TAG_PREFIX, extension_name, tag_key

BATCH_ROWS: Final = 65_536
ACTOR: Final = "x_Actor"
_DAYS: Final = {CHARGE_PERIOD: "charge_date", BILLING_PERIOD: "billing_period"}
"""Start columns of periods, which a segment stores as days."""


def write_focus_file(segment: Path, target: Path) -> int:
    """Write the lines of a segment as FOCUS Parquet and return how many. Tags are one JSON column; a vendor's own columns
    keep their names; the actor of a cost is x_Actor."""
    file = pq.ParquetFile(segment)
    rows = 0
    writer: pq.ParquetWriter | None = None
    try:
        for batch in file.iter_batches(BATCH_ROWS):
            table = _focus_table(batch)
            writer = writer or pq.ParquetWriter(target, table.schema, compression="zstd")
            writer.write_table(table)
            rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def _focus_table(batch: pa.RecordBatch) -> pa.Table:
    columns = dict(_focus_columns(batch))
    return pa.table(columns)


def _focus_columns(batch: pa.RecordBatch) -> Iterator[tuple[str, Any]]:
    names = set(batch.schema.names)
    for column, focus in _texts(names).items():
        yield focus, batch.column(column).cast(pa.string())
    for column, focus in {**AMOUNTS, **TIMES}.items():
        if column in names:
            yield focus, batch.column(column)
    for focus, column in _DAYS.items():
        if TIMES_BY_NAME[focus] not in names:
            yield focus, batch.column(column).cast(MOMENT)
    yield ACTOR, batch.column("actor").cast(pa.string())
    for column in sorted(names):
        if column.startswith(EXTENSION_PREFIX) and f"x_{extension_name(column)}" != ACTOR:
            yield f"x_{extension_name(column)}", batch.column(column).cast(pa.string())
    yield TAGS, pa.array(_tags(batch), pa.string())


TIMES_BY_NAME: Final = {focus: column for column, focus in TIMES.items()}


def _texts(names: set[str]) -> dict[str, str]:
    """The FOCUS name of each text column of the segment. Columns with the same name are distinguished as the import does."""
    by_column = {column: focus[0] for column, focus in TEXTS.items() if column in names}
    if "provider_name" not in names:
        by_column["provider"] = "ProviderName"
    if "sku_meter" in names:
        by_column.pop("usage_type", None)
    return by_column


def _tags(batch: pa.RecordBatch) -> list[str]:
    columns = [name for name in batch.schema.names if name.startswith(TAG_PREFIX)]
    values = [batch.column(name).to_pylist() for name in columns]
    keys = [tag_key(name) for name in columns]
    if not keys:
        return ["{}"] * batch.num_rows
    return [
        json.dumps({key: value for key, value in zip(keys, row, strict=True) if value is not None})
        for row in zip(*values, strict=True)
    ]
