"""A native file as a file of FOCUS columns: wraps the reader of a CSV, JSON or Parquet file."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from finops.costs.focus import columns as spec
from finops.costs.focus.bounds import check_column
from finops.costs.focus.errors import BadCell, FocusFileError, display_value
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.header import SET_HINT
from finops.costs.focus.report import Findings
from finops.costs.native.formats import format_of
from finops.costs.native.native_batch import NativeBatch
from finops.costs.native.native_format import NativeFile, NativeFormat, NativeMapping, OtherFiles, TableFile
from finops.lib.sentences import join_with_and


class _Window(NamedTuple):
    """The origin of the lines of the newest batch."""

    start: int = 0
    native_start: int = 0
    origin: pa.Array | None = None

    def native_row(self, index: int) -> int:
        """Return the file's row of line `index`. For a line before this batch, if lines were left out, one nearby."""
        place = index - self.start
        if self.origin is None or not 0 <= place < len(self.origin):
            return max(0, self.native_start + place)
        return self.native_start + int(self.origin[place].as_py())


class NativeReader:
    """A reader like CsvFile, JsonFile and ParquetFile, with FOCUS columns in place of the file's own."""

    def __init__(self, file: TableFile, format_: NativeFormat, mapping: NativeMapping) -> None:
        self.file = file
        self.native_format = format_
        self.mapping = mapping
        self.name = file.name
        self.path = file.path
        self.format = file.format
        self.size = file.size
        self.delimiter = file.delimiter
        self.findings = Findings()
        """Deviations in numbers found in the newest pass."""
        self.rows_read = 0
        """Rows of the file in the newest pass, including those that the mapping leaves out."""
        self._window = _Window()

    def __copy__(self) -> NativeReader:
        """Return a reader for a second pass over the same file, without changing the state of the first."""
        return NativeReader(copy.copy(self.file), self.native_format, copy.copy(self.mapping))

    @property
    def names(self) -> list[str]:
        return list(self.mapping.columns)

    @property
    def bytes_done(self) -> int:
        return self.file.bytes_done

    @property
    def text_hash(self) -> str:
        return self.file.text_hash

    def source_of(self, column: str) -> str:
        """Return the name of a FOCUS column in messages: that of its native column."""
        native = self.mapping.sources.get(column) or ", ".join(self.mapping.columns.get(column, ())[:1])
        return f"{native} ({column})" if native and native != column else column

    def row(self, index: int) -> str:
        """Name the line `index` (from 0) for a report."""
        return self.file.row(self._window.native_row(index))

    def where(self, index: int) -> str:
        """Name the line with its line number in the file."""
        return self.file.where(self._window.native_row(index))

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """Yield batches of FOCUS columns by position. FocusFileError names the file's own row and column."""
        self.mapping.begin()
        self.findings, self._window, self.rows_read = Findings(), _Window(), 0
        try:
            yield from self._batches((*texts, *plain))
        finally:
            # All readers of an import live until its end, so a batch in each would take memory for every file.
            self.mapping.end()
            self._window = _Window()

    def _batches(self, places: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        native_start = start = 0
        names = self.names
        for raw in self.file.batches(*self._native_places([names[place] for place in places])):
            size = len(next(iter(raw.values())))
            self.rows_read += size
            columns, origin, lines = self._map(raw, size, native_start, [names[place] for place in places])
            if lines:
                self._window = _Window(start, native_start, origin)
                self._check(columns, start)
                yield {place: columns[names[place]] for place in places}
            native_start, start = native_start + size, start + lines
        if "BilledCost" in (names[place] for place in places):
            yield from self._extra_batches([names[place] for place in places], places, native_start, start)

    def _extra_batches(
        self, columns: Sequence[str], places: Sequence[int], native_rows: int, start: int
    ) -> Iterator[Mapping[int, pa.Array]]:
        """Yield lines that the mapping adds; messages name the last row of the file for them."""
        lines = self.mapping.extra_lines()
        if not lines:
            return
        size = len(next(iter(lines.values())))
        self._window = _Window(start, native_rows - 1, pa.repeat(pa.scalar(0), size))
        nothing = pa.nulls(size, pa.string())
        yield {place: lines.get(name, nothing) for place, name in zip(places, columns, strict=True)}

    def _native_places(self, columns: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return indexes of the file's columns for these FOCUS columns: with few different values, and others."""
        sources = [name for column in columns for name in self.mapping.columns[column]]
        names = list(dict.fromkeys([*self.mapping.needed, *sources])) or self.file.names[:1]
        position = {name: place for place, name in reversed(list(enumerate(self.file.names)))}
        plain = self.mapping.plain
        few = [position[name] for name in names if name not in plain]
        return few, [position[name] for name in names if name in plain]

    def _map(
        self, raw: Mapping[int, pa.Array], size: int, before: int, columns: Sequence[str]
    ) -> tuple[dict[str, pa.Array], pa.Array | None, int]:
        findings = self.findings
        findings.begin_batch(lambda index: f"{self.name} {self.file.row(before + index)}")
        try:
            batch = NativeBatch({self.file.names[place]: raw[place] for place in raw}, size, findings)
            lines = self.mapping.prepare(batch)
            mapped = {name: self.mapping.column(name, lines) for name in columns} if lines.size else {}
            return mapped, lines.origin, lines.size
        except BadCell as bad:
            raise self._explain(bad, before) from bad
        finally:
            findings.end_batch()

    def _explain(self, bad: BadCell, before: int) -> FocusFileError:
        error = self.native_format.cell_error
        if bad.index < 0:
            return error(f"{self.name}: column {bad.column} {bad.problem}: {bad.value}.", field=bad.column)
        value = "" if bad.value is None else f" {display_value(bad.value)}"
        return error(
            f"{self.name}, {self.file.where(before + bad.index)}, column {bad.column}:{value} {bad.problem}. Correct "
            "the value and try again; the file was not imported.",
            field=bad.column,
            value=bad.value,
        )

    def _check(self, columns: Mapping[str, pa.Array], start: int) -> None:
        """Check the limits: many columns combined into one, such as tags, have the limits of one."""
        for name, values in columns.items():
            check_column(values, name, self.name, lambda index: self.row(start + index))


def native_reader(file: TableFile, defaults: Mapping[str, str]) -> NativeReader | None:
    """Return the file as FOCUS columns if a native format recognises it; None if none does, or with BilledCost.

    FocusFileError for a recognised file that lacks mandatory columns without `defaults`.
    """
    if spec.fold("BilledCost") in map(spec.fold, file.names):
        return None
    format_ = format_of(file.names)
    if format_ is None:
        return None
    mapping = format_.mapping(file.names, file.name)
    reader = NativeReader(file, format_, mapping)
    missing = [
        columns[0]
        for columns in spec.MANDATORY
        if not any(column in mapping.columns or column in defaults for column in columns)
    ]
    if missing:
        missing_columns = join_with_and([reader.source_of(column) for column in missing])
        raise FocusFileError(
            f"{file.name} is an export in the format “{mapping.title}” without {missing_columns}. {SET_HINT}",
            field=missing[0],
            value=missing,
        )
    return reader


def relate(readers: Sequence[NativeReader], choice: FormatChoice, others: OtherFiles) -> None:
    """Let each format relate its files of an import. FocusFileError for files that do not belong together."""
    for format_, files in _files_by_format(readers).items():
        format_.relate(files, choice, others)


def facts_of(readers: Sequence[NativeReader]) -> tuple[Sequence[str], bool] | None:
    """Return `NativeFormat.decisions` and `last_needs_others` of related files of one format; None for several formats."""
    files_by_format = _files_by_format(readers)
    if len(files_by_format) != 1:
        return None
    [(format_, files)] = files_by_format.items()
    return format_.decisions(files), format_.last_needs_others(files)


def summary_of(readers: Sequence[NativeReader]) -> bytes | None:
    """Return the summary of files of one format, which were read; empty for files of several formats and for none."""
    files_by_format = _files_by_format(readers)
    if len(files_by_format) != 1:
        return b""
    [(format_, files)] = files_by_format.items()
    return format_.summary(files)


def _files_by_format(readers: Sequence[NativeReader]) -> dict[NativeFormat, list[NativeFile]]:
    files: dict[NativeFormat, list[NativeFile]] = {}
    for reader in readers:
        files.setdefault(reader.native_format, []).append(NativeFile(reader.mapping, reader.file))
    return files
