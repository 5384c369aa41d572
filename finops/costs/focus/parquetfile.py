"""Parquet as record batches, in any types; the plan for reading its columns in bounded memory is made from the footer
and the dictionaries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from finops.costs.focus.bounds import (
    BATCH_BYTES,
    BATCH_ROWS,
    COLUMN_BYTES,
    GATHERED_BYTES,
    check_batch,
    check_column,
)
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
        self._plans: dict[tuple[tuple[int, ...], tuple[int, ...]], DecodePlan] = {}
        check_footer(path, self.size, name)
        with self._explain_errors("footer"), open_file(path) as file:
            check_schema(file, self.size, name)
            self.names: list[str] = file.schema_arrow.names
            self._types: list[pa.DataType] = file.schema_arrow.types
            self.rows: int = file.metadata.num_rows
            self._metadata = file.metadata

    @property
    def bytes_done(self) -> int:
        return self.size * self._rows_done // max(self.rows, 1)

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """Yield batches of columns by position, strings of `texts` dictionary-encoded. May be called again."""
        self._rows_done = 0
        places = [*texts, *plain]
        names = [self.names[place] for place in places]
        with self._explain_errors("data"):
            plan = self._plan(texts, plain)
            with open_file(self.path, metadata=self._metadata, read_dictionary=plan.as_dictionary) as file:
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
            f"{self.name} declares {self.rows:,} rows but has {count}. It may be damaged; "
            "download or export it again."
        )

    def _plan(self, texts: Sequence[int], plain: Sequence[int]) -> DecodePlan:
        """Return the plan, cached by columns: a file is surveyed and then read."""
        key = tuple(texts), tuple(plain)
        if key not in self._plans:
            dictionaries = [self.names[place] for place in texts if _is_text(self._types[place])]
            columns = [self.names[place] for place in (*texts, *plain)]
            with open_file(self.path, metadata=self._metadata) as file:
                self._plans[key] = plan(self.path, file, self.name, dictionaries, columns)
        return self._plans[key]

    def _check(self, batch: Mapping[int, pa.Array]) -> None:
        def where(index: int) -> str:
            return self.row(self._rows_done + index)

        check_batch(sum(values.nbytes for values in batch.values()), self.name, where)
        for place, values in batch.items():
            check_column(values, self.names[place], self.name, where)

    def is_text(self, place: int) -> bool:
        """Return whether the column at this index is stored as text."""
        type_ = self._types[place]
        return _is_text(type_.value_type if pa.types.is_dictionary(type_) else type_)

    def row(self, index: int) -> str:
        """Name the row `index` (from 0) for a report."""
        return f"row {index + 1}"

    where = row

    def _explain_errors(self, part: str) -> _ErrorExplainer:
        return _ErrorExplainer(self, part)


class _ErrorExplainer:
    """Converts pyarrow's errors about a damaged file into one for its owner."""

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
                f"{display_value(error)}. It may be truncated; download or export it again."
            ) from error


def resize_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the first batch unchanged, for callers that need only the first rows; then merge small ones: each costs
    the same 3 ms, however few rows it has."""
    yield from itertools.islice(batches, 1)
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
    """Return the rows in one batch with one dictionary per column (several only beyond 2 GB of text)."""
    if len(batches) <= 1:
        return batches
    return list(pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches())


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


MAX_FOOTER: Final = 32 << 20
FREE_ROWS: Final = 1_000_000
"""The maximum of rows of a file, plus one for each of its bytes. Lines of a bill differ and take 5 bytes or more
each; a repeated line takes none, so that 4 KB can contain two thousand million."""

MAX_COLUMNS: Final = 2_000
"""The maximum of columns of a file; FOCUS has 65, and 200 of a provider's own are imported."""

MAX_LEAVES: Final = 10_000
"""The maximum of columns including the leaves of nested ones; a struct of tags has one for each key."""

MAX_DEPTH: Final = 24
"""The maximum of names in the path of a leaf; a list or a map takes two or three."""

MAX_CHUNK: Final = 1 << 30
"""The maximum of bytes of a column in a row group, uncompressed."""

MAX_FIXED: Final = 1_024
"""The maximum of bytes of a value of fixed length; decimals and UUIDs have 16."""

_USUAL_VALUES: Final = 32
"""Values of a nested column in a row, on average; with more, fewer rows are read at once."""

_CAREFUL_ROWS: Final = 1_024
"""Rows read at once if the bytes do not limit the lengths and there is no dictionary."""

_THRIFT_STRINGS: Final = 16 << 20
_THRIFT_ITEMS: Final = 1_000_000
_STREAM: Final = 1 << 16


class DecodePlan(NamedTuple):
    as_dictionary: list[str]
    """Paths of the leaves."""
    rows: int
    """Rows to decode at once."""


class _Leaf(NamedTuple):
    place: int
    path: str
    column: str
    is_nested: bool


def check_footer(path: Path, size: int, name: str) -> None:
    """Raise FocusFileError for a footer that is too large to read."""
    with path.open("rb") as file:
        file.seek(-min(8, size), 2)
        end = file.read()
    length = int.from_bytes(end[:4], "little") if end[4:] == b"PAR1" else 0
    if length > MAX_FOOTER:
        raise FocusFileError(
            f"{name} has a footer of {length >> 20:,} MB; it may have {MAX_FOOTER >> 20}. "
            "Write it with fewer columns or larger row groups."
        )


def open_file(path: Path, **options: Any) -> pq.ParquetFile:
    return pq.ParquetFile(
        path, thrift_string_size_limit=_THRIFT_STRINGS, thrift_container_size_limit=_THRIFT_ITEMS, **options
    )


def check_schema(file: pq.ParquetFile, size: int, name: str) -> None:
    """Raise FocusFileError for more rows than a bill of `size` bytes has, or more or deeper columns."""
    metadata, names = file.metadata, file.schema_arrow.names
    if metadata.num_rows > FREE_ROWS + size:
        raise FocusFileError(
            f"{name} declares {metadata.num_rows:,} rows in {size:,} bytes; at most {FREE_ROWS + size:,} can be read, "
            f"{FREE_ROWS:,} and one for each byte. It may be damaged: export it again, or split it into several files."
        )
    if len(names) > MAX_COLUMNS or metadata.num_columns > MAX_LEAVES:
        raise FocusFileError(
            f"{name} has {len(names):,} columns ({metadata.num_columns:,} with what they consist of); at most {MAX_COLUMNS:,} "
            f"({MAX_LEAVES:,}) can be read. Remove columns that are not needed."
        )
    for index in range(metadata.num_columns):
        column = metadata.schema.column(index)
        if column.max_definition_level > MAX_DEPTH or column.path.count(".") > MAX_DEPTH:
            raise FocusFileError(
                f"{name}: column {display_value(column.path)} is nested more than {MAX_DEPTH} levels deep. Leave it out."
            )


def plan(
    path: Path, file: pq.ParquetFile, name: str, texts: Sequence[str], columns: Sequence[str]
) -> DecodePlan:
    """Return how to read the `columns`, of which `texts` become dictionaries if possible. FocusFileError for columns
    that cannot be read in bounded memory. Cost: a millisecond per row group, and its dictionaries."""
    _refuse_duplicate_columns(file, name, columns)
    leaves = list(_leaves(file.schema_arrow, set(columns), file.metadata))
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    as_dictionary: dict[str, None] = {}
    rows = BATCH_ROWS
    measurable: list[_Leaf] = []
    # Dictionary columns take no more memory when decoded, and their dictionaries are at most as large as the row group.
    is_large = any(group.total_byte_size > BATCH_BYTES for group in groups)
    for leaf in leaves:
        chunks = [(group.column(leaf.place), group.num_rows) for group in groups]
        _check_chunks(file, leaf, chunks, name)
        if leaf.is_nested:
            rows = min(rows, *(_rows_of(chunk, count) for chunk, count in chunks), BATCH_ROWS)
        if chunks and chunks[0][0].physical_type != "BYTE_ARRAY":
            continue
        encodings = {encoding for chunk, _ in chunks for encoding in chunk.encodings}
        if not any(encoding.startswith("DELTA") for encoding in encodings):
            if leaf.column in texts and not leaf.is_nested:
                as_dictionary[leaf.path] = None
            if leaf.path not in as_dictionary or is_large:
                measurable.append(leaf)
        elif "DELTA_BYTE_ARRAY" in encodings:
            rows = min(rows, _CAREFUL_ROWS)
    if measurable:
        as_dictionary |= dict.fromkeys(_unbounded_leaves(path, file.metadata, measurable, name))
    return DecodePlan(list(as_dictionary), rows)


def _unbounded_leaves(
    path: Path, metadata: pq.FileMetaData, leaves: Sequence[_Leaf], name: str
) -> Iterator[str]:
    """Return leaves whose dictionary could expand a batch beyond the limit of a column."""
    columns = list(dict.fromkeys(leaf.path for leaf in leaves))
    with open_file(path, metadata=metadata, read_dictionary=columns, buffer_size=_STREAM) as file:
        for place in range(metadata.num_row_groups):
            group = metadata.row_group(place)
            first = next(file.iter_batches(1, row_groups=[place], columns=columns, use_threads=False), None)
            if first is None:
                continue
            dictionaries = _dictionaries(first, leaves)
            size = sum(each.nbytes for each in dictionaries.values())
            if size > BATCH_BYTES:
                raise FocusFileError(
                    f"{name}: the dictionaries of row group {place + 1} hold {size >> 20:,} MB; they may hold "
                    f"{BATCH_BYTES >> 20}. Write smaller row groups."
                )
            for leaf in leaves:
                values = dictionaries.get(leaf.path)
                longest = (pc.max(pc.binary_length(values)).as_py() or 0) if values is not None else 0
                count = (
                    group.column(leaf.place).num_values if leaf.is_nested else min(BATCH_ROWS, group.num_rows)
                )
                if longest * count > COLUMN_BYTES:
                    yield leaf.path


def _dictionaries(batch: pa.RecordBatch, leaves: Sequence[_Leaf]) -> Mapping[str, pa.Array]:
    """Return the dictionaries of a batch by leaf path; their order in the batch is that of the file."""
    arrays = [
        leaf for name in dict.fromkeys(leaf.column for leaf in leaves) for leaf in _parts(batch.column(name))
    ]
    by_path = zip((leaf.path for leaf in leaves), arrays, strict=False)
    return {path: values.dictionary for path, values in by_path if pa.types.is_dictionary(values.type)}


def _parts(values: pa.Array) -> list[pa.Array]:
    type_ = values.type
    if pa.types.is_map(type_):
        return [*_parts(values.keys), *_parts(values.items)]
    if pa.types.is_struct(type_):
        return [part for place in range(type_.num_fields) for part in _parts(values.field(place))]
    return _parts(values.values) if pa.types.is_nested(type_) and hasattr(values, "values") else [values]


def _leaves(schema: pa.Schema, columns: set[str], metadata: pq.FileMetaData) -> Iterator[_Leaf]:
    """Return the leaves of these columns; the leaves of one column are consecutive in the file."""
    index = 0
    for field in schema:
        count = _count(field.type)
        if field.name in columns:
            for place in range(index, min(index + count, metadata.num_columns)):
                yield _Leaf(
                    place, metadata.schema.column(place).path, field.name, pa.types.is_nested(field.type)
                )
        index += count


def _count(type_: pa.DataType) -> int:
    if pa.types.is_map(type_):
        return _count(type_.key_type) + _count(type_.item_type)
    if pa.types.is_struct(type_):
        return sum(_count(type_.field(place).type) for place in range(type_.num_fields))
    return _count(type_.value_type) if pa.types.is_nested(type_) and hasattr(type_, "value_type") else 1


def _check_chunks(file: pq.ParquetFile, leaf: _Leaf, chunks: Sequence[tuple[Any, int]], name: str) -> None:
    fixed = file.metadata.schema.column(leaf.place)
    if fixed.physical_type == "FIXED_LEN_BYTE_ARRAY" and fixed.length > MAX_FIXED:
        raise FocusFileError(
            f"{name}: the values of column {display_value(leaf.path)} have {fixed.length:,} bytes each; {MAX_FIXED:,} can be read. "
            "Leave it out."
        )
    for place, (chunk, _) in enumerate(chunks, start=1):
        if chunk.total_uncompressed_size > MAX_CHUNK:
            raise FocusFileError(
                f"{name}: column {display_value(leaf.path)} of row group {place} has {chunk.total_uncompressed_size >> 20:,} MB; "
                f"{MAX_CHUNK >> 20:,} can be read. Write smaller row groups."
            )


def _rows_of(chunk: Any, rows: int) -> int:
    """Return the rows of a nested column to read at once: a row may have many values."""
    values = int(chunk.num_values) // max(rows, 1) + 1
    return max(1, BATCH_ROWS * _USUAL_VALUES // max(values, _USUAL_VALUES))


def _refuse_duplicate_columns(file: pq.ParquetFile, name: str, columns: Sequence[str]) -> None:
    names = file.schema_arrow.names
    for column in columns:
        if names.count(column) > 1:
            raise FocusFileError(
                f"{name} has the column {display_value(column)} more than once. Remove all but one."
            )
