"""Parquet as record batches, in whatever types its writer chose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from finops.costs.focus import parquetplan
from finops.costs.focus.bounds import BATCH_ROWS, GATHERED_BYTES, check_batch, check_column
from finops.costs.focus.errors import FocusFileError, display_value
from finops.costs.focus.sniff import Format


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
        self._plans: dict[tuple[tuple[int, ...], tuple[int, ...]], parquetplan.Plan] = {}
        parquetplan.check_footer(path, self.size, name)
        with self._explain_errors("footer"), parquetplan.open_file(path) as file:
            parquetplan.check_schema(file, self.size, name)
            self.names: list[str] = file.schema_arrow.names
            self._types: list[pa.DataType] = file.schema_arrow.types
            self.rows: int = file.metadata.num_rows
            self._metadata = file.metadata

    @property
    def bytes_done(self) -> int:
        return self.size * self._rows_done // max(self.rows, 1)

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """Columns by position, batch after batch, strings of `texts` dictionary-encoded. May be called again."""
        self._rows_done = 0
        places = [*texts, *plain]
        names = [self.names[place] for place in places]
        with self._explain_errors("data"):
            plan = self._plan(texts, plain)
            with parquetplan.open_file(
                self.path, metadata=self._metadata, read_dictionary=plan.as_dictionary
            ) as file:
                for batch in resize_batches(file.iter_batches(batch_size=plan.rows, columns=names)):
                    if self._rows_done + batch.num_rows > self.rows:
                        raise self._wrong_count("more")
                    columns = {place: batch.column(self.names[place]) for place in places}
                    self._check(columns)
                    yield columns
                    self._rows_done += batch.num_rows
        if self._rows_done != self.rows:
            raise self._wrong_count(f"{self._rows_done:,}")

    def _wrong_count(self, count: str) -> FocusFileError:
        return FocusFileError(
            f"{self.name} says that it has {self.rows:,} rows, and has {count}. It may be damaged; "
            "download or export it again."
        )

    def _plan(self, texts: Sequence[int], plain: Sequence[int]) -> parquetplan.Plan:
        """Made once of the same columns: a file is looked at and then read."""
        key = tuple(texts), tuple(plain)
        if key not in self._plans:
            dictionaries = [self.names[place] for place in texts if _is_text(self._types[place])]
            columns = [self.names[place] for place in (*texts, *plain)]
            with parquetplan.open_file(self.path, metadata=self._metadata) as file:
                self._plans[key] = parquetplan.plan(self.path, file, self.name, dictionaries, columns)
        return self._plans[key]

    def _check(self, batch: Mapping[int, pa.Array]) -> None:
        def where(index: int) -> str:
            return self.row(self._rows_done + index)

        check_batch(sum(values.nbytes for values in batch.values()), self.name, where)
        for place, values in batch.items():
            check_column(values, self.names[place], self.name, where)

    def is_text(self, place: int) -> bool:
        """Whether the column at this place is stored as text."""
        type_ = self._types[place]
        return _is_text(type_.value_type if pa.types.is_dictionary(type_) else type_)

    def row(self, index: int) -> str:
        """How a report names the row `index` (from 0)."""
        return f"row {index + 1}"

    where = row

    def _explain_errors(self, part: str) -> _ErrorExplainer:
        return _ErrorExplainer(self, part)


class _ErrorExplainer:
    """Turns pyarrow's errors about a damaged file into one that its owner understands."""

    def __init__(self, file: ParquetFile, part: str) -> None:
        self._file = file
        self._part = part

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        after = f" after row {self._file._rows_done}" if self._part == "data" else ""
        if isinstance(error, MemoryError):
            raise FocusFileError(
                f"{self._file.name}: its {self._part} cannot be read{after} in the memory that an import may have. Write it "
                "with smaller row groups and shorter values; or it is damaged, then download or export it again."
            ) from error
        if isinstance(error, pa.ArrowException | OSError | UnicodeDecodeError):
            raise FocusFileError(
                f"{self._file.name} begins like Parquet but its {self._part} cannot be read{after}: "
                f"{display_value(error)}. It may have broken off; download or export it again."
            ) from error


def resize_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches taken together: each costs the same 3 ms, however few rows it has."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= BATCH_ROWS // 2 or size >= GATHERED_BYTES:
            yield from merge_batches(waiting)
            waiting, rows, size = [], 0, 0
    yield from merge_batches(waiting)


def merge_batches(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The rows in one batch with one dictionary a column (more only beyond 2 GB of text)."""
    if len(batches) <= 1:
        return batches
    return list(pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches())


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))
