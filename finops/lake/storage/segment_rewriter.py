"""Rewriting of live segments, sorted: the same rows in fewer files, or without those of a batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounts.models import Account
from finops.lake import schema
from finops.lake.engine import compiler, engine
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.manifest import SegmentFile
from finops.lake.storage.segments import NewSegment
from finops.lake.usage.usage_table import SORTED_BY
from finops.lib import time_limit

BUFFERED_CELLS: Final = 2**21
"""The most values of all files together in memory: 160,000 rows of 13 columns."""

LEAST_ROWS: Final = 1_024
"""The least rows of a file to read at once: fewer cost more time than they save memory."""


def merge_sorted_files(
    files: Sequence[Path], schema: pa.Schema, order: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield all rows of these Parquet files, in the columns and types of `schema`; columns that a file does not have are null.

    Each file must be sorted by the columns of `order`, bytewise and without nulls in them; then so is the result. Rows of an
    unsorted file are complete too, in some other order. Costs about a second a million rows. Raises pyarrow's errors for a
    damaged file.
    """
    at_once = max(LEAST_ROWS, BUFFERED_CELLS // (len(schema) * max(1, len(files))))
    with ExitStack() as opened:
        readers = [opened.enter_context(closing(pq.ParquetFile(file))) for file in files]
        cursors = [_FileCursor(_batches(reader, at_once), schema, order) for reader in readers]
        while cursors := [rows for rows in cursors if rows]:
            until = min(rows.last() for rows in cursors)
            yield _sort_batches([rows.take(until) for rows in cursors], schema, order)


def _batches(file: pq.ParquetFile, at_once: int) -> Iterator[pa.RecordBatch]:
    # Arrow reads all requested row groups before it returns the first batch.
    for group in range(file.num_row_groups):
        yield from file.iter_batches(at_once, row_groups=[group])


class _FileCursor:
    """The unread rest of one file."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, order: Sequence[str]) -> None:
        self.batches = (_cast_batch(batch, schema) for batch in batches if batch.num_rows)
        self.order = order
        self.batch = next(self.batches, pa.RecordBatch.from_pylist([], schema))

    def __bool__(self) -> bool:
        return bool(self.batch.num_rows)

    def last(self) -> tuple[Any, ...]:
        """The order's values of the last buffered row. Later rows of the file are not before it."""
        return tuple(self.batch.column(name)[-1].as_py() for name in self.order)

    def take(self, until: tuple[Any, ...]) -> pa.RecordBatch:
        """Remove and return the buffered rows that are not after `until`."""
        count = pc.sum(self._not_after(until)).as_py()
        rows, remaining = self.batch.slice(0, count), self.batch.slice(count)
        self.batch = remaining if remaining.num_rows else next(self.batches, remaining)
        return rows

    def _not_after(self, until: tuple[Any, ...]) -> pa.Array:
        """Return which buffered rows are before or equal to these values."""
        mask = pa.repeat(True, self.batch.num_rows)
        for name, value in reversed(list(zip(self.order, until, strict=True))):
            column = self.batch.column(name)
            limit = pa.scalar(value, column.type)
            mask = pc.or_(pc.less(column, limit), pc.and_(pc.equal(column, limit), mask))
        return mask


def _cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    has = set(batch.schema.names)
    columns = [
        batch.column(name).cast(type_) if name in has else pa.nulls(batch.num_rows, type_)
        for name, type_ in zip(schema.names, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _sort_batches(
    batches: Sequence[pa.RecordBatch], schema: pa.Schema, order: Sequence[str]
) -> pa.RecordBatch:
    non_empty = [batch for batch in batches if batch.num_rows]
    if len(non_empty) == 1:
        return non_empty[0]
    together = pa.Table.from_batches(non_empty, schema).combine_chunks()
    places = pc.sort_indices(together, sort_keys=[(name, "ascending") for name in order])
    return pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in together.take(places).columns], schema=schema
    )


_BATCH: Final = "batch"


class RowsLost(RuntimeError):
    """A rewritten file does not have the expected rows; it is not used, and the old files stay current."""


def rewrite(
    account: Account, old: Sequence[LakeSegment], *, rows: int, excluded_batch: UUID | None = None
) -> NewSegment:
    """Write one new file, durable and not current yet, of all rows of `old`, which are of one source and month.

    Sorted by metric, day and customer; without the events of a batch. `rows` is the expected number: RowsLost otherwise,
    and then no file stays. Memory is limited to the buffer of `merge_sorted_files` and a row group or two, however many rows
    there are. ValueError for more than 1,000 dimension keys together. About a million rows a second.
    """
    full = schema.segment_schema(Kind.USAGE, sorted(set().union(*(segment.key_columns for segment in old))))
    with closing(_rows(old, full, excluded_batch)) as batches:
        new = segments.write_segment(
            account_id=account.pk,
            kind=Kind.USAGE,
            source_id=old[0].source_id,
            month=old[0].month,
            batches=batches,
            schema=full,
        )
    if new.rows != rows:
        segments.discard([new])
        raise RowsLost(f"{[segment.path for segment in old]} have {rows} rows, and the new file {new.rows}.")
    return new


def rows_of_batch(account: Account, old: Sequence[LakeSegment], batch: UUID) -> dict[int, int]:
    """Return how many events of the batch each segment has, by the segment's id; segments without any are left out.

    Reads one column of the files: about 50 million rows a second.
    """
    if not old:
        return {}
    statement = partial(compiler.rows_by_file_sql, column=_BATCH, value=str(batch))
    with engine.read_batches(_files(old), statement, account=account) as reader:
        rows = reader.read_all().to_pylist()
    ids = {_name(segment.path): segment.pk for segment in old}
    return {ids[_name(row["filename"])]: row["rows"] for row in rows}


def _rows(
    old: Sequence[LakeSegment], full: pa.Schema, excluded_batch: UUID | None
) -> Generator[pa.RecordBatch]:
    files = [Path(file.path) for file in engine.local_files(_files(old))]
    for rows in merge_sorted_files(files, full, SORTED_BY):
        time_limit.check()
        yield rows if excluded_batch is None else rows.filter(pc.not_equal(rows[_BATCH], str(excluded_batch)))


def _files(old: Sequence[LakeSegment]) -> list[SegmentFile]:
    return [SegmentFile(segment.path, segment.checksum, frozenset(segment.columns)) for segment in old]


def _name(path: str) -> str:
    """The random part of the file name, unique to this file."""
    return path.rsplit("/", 1)[-1]
