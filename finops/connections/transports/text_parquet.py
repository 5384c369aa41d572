"""Rows as Parquet with text columns, in bounded memory: amounts keep all their digits until the importer reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from finops.connections.connector import SourceError


class TextParquet:
    """A file that is being written. `rows` is the number of written rows."""

    def __init__(self, writer: pq.ParquetWriter, max_rows: int) -> None:
        self.rows = 0
        self._writer = writer
        self._max_rows = max_rows

    def write(self, columns: Sequence[Sequence[str | None]]) -> int:
        """Write a batch of columns of equal length, in the file's order. Returns its bytes in memory. Raises
        SourceError for more rows than the file may have."""
        arrays = [pa.array(values, pa.string()) for values in columns]
        self.rows += len(arrays[0])
        if self.rows > self._max_rows:
            raise SourceError(f"The month has more than {self._max_rows:,} lines, the limit.")
        if not len(arrays[0]):
            return 0
        batch = pa.record_batch(arrays, schema=self._writer.schema)
        self._writer.write_batch(batch)
        return int(batch.nbytes)


@contextmanager
def text_parquet(path: Path, names: Sequence[str], max_rows: int) -> Iterator[TextParquet]:
    """Context manager for a file; it is complete after the block. Memory: a batch."""
    with pq.ParquetWriter(path, text_schema(names), compression="zstd") as writer:
        yield TextParquet(writer, max_rows)


def keep_columns(path: Path, names: Sequence[str], batch_rows: int) -> None:
    """Rewrite the file with only these columns. Memory: a batch."""
    whole = path.with_suffix(".all")
    path.rename(whole)
    with (
        pq.ParquetFile(whole) as file,
        pq.ParquetWriter(path, text_schema(names), compression="zstd") as writer,
    ):
        for batch in file.iter_batches(batch_size=batch_rows, columns=list(names)):
            writer.write_batch(batch.select(names))
    whole.unlink()


def text_schema(names: Sequence[str]) -> pa.Schema:
    """Return a schema of text columns."""
    return pa.schema([(name, pa.string()) for name in names])
