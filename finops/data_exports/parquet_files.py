"""Writes batches of lines as Parquet files on this disk, in limited memory: row groups of some 100,000 lines, files of some
millions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from finops.costs.focus.columns import TAGS
from finops.costs.focus.tag_json import tag_json
from finops.data_exports.schemas import ExportTotal, ManifestColumn
from finops.lib import disk

GROUP_ROWS: Final = 131_072
"""Rows of a row group, unless it reaches GROUP_BYTES first: the unit that engines read, and that is held in memory."""
GROUP_BYTES: Final = 64 * 1024**2
FILE_ROWS: Final = 2_000_000
COMPRESSION: Final = "snappy"
"""A compression that every engine reads, and that the files' names contain."""


@dataclass(frozen=True)
class LocalFile:
    path: Path
    rows: int


@dataclass
class MonthFiles:
    """The files of a month in `folder`, while they are written. `tags` are columns of tags that are combined into one, by
    their keys."""

    folder: Path
    tags: Mapping[str, str] = field(default_factory=dict)
    file_rows: int = FILE_ROWS
    files: list[LocalFile] = field(default_factory=list)
    columns: list[ManifestColumn] = field(default_factory=list)
    _sums: dict[str, list[Decimal]] = field(default_factory=lambda: defaultdict(lambda: [Decimal(0)] * 2))
    _writer: pq.ParquetWriter | None = None
    _rows: int = 0

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def totals(self) -> list[ExportTotal]:
        return [
            ExportTotal(currency=currency, billed_cost=billed, effective_cost=effective)
            for currency, (billed, effective) in sorted(self._sums.items())
        ]

    def write(self, batches: Iterable[pa.RecordBatch], progress: Callable[[], None]) -> None:
        """Write all lines and return the sums of their amounts by currency. Raises LowDisk, and what `progress` raises
        between row groups."""
        try:
            for group in _groups(batches):
                disk.check_disk()
                self._write(self._with_tags(group))
                progress()
        finally:
            self._close()

    def _with_tags(self, table: pa.Table) -> pa.Table:
        if not self.tags:
            return table
        texts = tag_json(table, self.tags)
        return table.drop_columns(list(self.tags)).append_column(TAGS, texts)

    def _write(self, table: pa.Table) -> None:
        if self._writer is None:
            path = self.folder / f"{len(self.files) + 1:05d}.parquet"
            self._writer = pq.ParquetWriter(path, table.schema, compression=COMPRESSION)
            self.files.append(LocalFile(path, 0))
            self.columns = [ManifestColumn(each.name, str(each.type)) for each in table.schema]
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self._rows += table.num_rows
        self._add(table)
        if self._rows >= self.file_rows:
            self._close()

    def _add(self, table: pa.Table) -> None:
        amounts = [("BilledCost", "sum"), ("EffectiveCost", "sum")]
        for row in table.group_by("BillingCurrency").aggregate(amounts).to_pylist():
            sums = self._sums[row["BillingCurrency"] or ""]
            self._sums[row["BillingCurrency"] or ""] = [
                sums[0] + (row["BilledCost_sum"] or 0),
                sums[1] + (row["EffectiveCost_sum"] or 0),
            ]

    def _close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self.files[-1] = LocalFile(self.files[-1].path, self._rows)
        self._writer, self._rows = None, 0


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)
