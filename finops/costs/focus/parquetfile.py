"""Parquet as record batches, in whatever types its writer chose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from finops.costs.focus.errors import FocusFileError, shown
from finops.costs.focus.sniff import Format

BATCH_ROWS: Final = 1 << 16


class ParquetFile:
    """A Parquet file whose footer has been read."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.format = Format.PARQUET
        self.size = path.stat().st_size
        self.delimiter = ""
        self.text_hash = ""
        self._rows_done = 0
        with self._explained("footer"), pq.ParquetFile(path) as file:
            self.names: list[str] = file.schema_arrow.names
            self._types: list[pa.DataType] = file.schema_arrow.types
            self.rows: int = file.metadata.num_rows

    @property
    def bytes_done(self) -> int:
        return self.size * self._rows_done // max(self.rows, 1)

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """Columns by position, batch after batch, strings of `texts` dictionary-encoded. May be called again."""
        self._rows_done = 0
        wanted = [*texts, *plain]
        as_dictionary = [self.names[place] for place in texts if _is_text(self._types[place])]
        chosen = [self.names[place] for place in wanted]
        with self._explained("data"), pq.ParquetFile(self.path, read_dictionary=as_dictionary) as file:
            for batch in in_good_sizes(file.iter_batches(batch_size=BATCH_ROWS, columns=chosen)):
                yield {place: batch.column(self.names[place]) for place in wanted}
                self._rows_done += batch.num_rows

    def is_text(self, place: int) -> bool:
        """Whether the column at this place is stored as text."""
        type_ = self._types[place]
        return _is_text(type_.value_type if pa.types.is_dictionary(type_) else type_)

    def row(self, index: int) -> str:
        """How a report names the row `index` (from 0)."""
        return f"row {index + 1}"

    where = row

    def _explained(self, part: str) -> _Explained:
        return _Explained(self, part)


class _Explained:
    """Turns pyarrow's errors about a damaged file into one that its owner understands."""

    def __init__(self, file: ParquetFile, part: str) -> None:
        self._file = file
        self._part = part

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        if isinstance(error, pa.ArrowException | OSError | MemoryError | UnicodeDecodeError):
            after = f" after row {self._file._rows_done}" if self._part == "data" else ""
            raise FocusFileError(
                f"{self._file.name} begins like Parquet but its {self._part} cannot be read{after}: "
                f"{shown(error)}. It may have broken off; download or export it again."
            ) from error


def in_good_sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches taken together: each costs the same 3 ms, however few rows it has."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= BATCH_ROWS // 2:
            yield from joined(waiting)
            waiting = []
    yield from joined(waiting)


def joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The rows in one batch with one dictionary a column (more only beyond 2 GB of text)."""
    if len(batches) <= 1:
        return batches
    return list(pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches())


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))
