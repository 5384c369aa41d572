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
from finops.costs.native.native_format import NativeFile, NativeFormat, NativeMapping, TableFile
from finops.lib.sentences import join_with_and


class _Window(NamedTuple):
    """Where the lines of the newest batch are from."""

    start: int = 0
    native_start: int = 0
    origin: pa.Array | None = None

    def native_row(self, index: int) -> int:
        """The file's row of line `index`. Of a line before this batch, where lines were left out, one nearby."""
        place = index - self.start
        if self.origin is None or not 0 <= place < len(self.origin):
            return max(0, self.native_start + place)
        return self.native_start + int(self.origin[place].as_py())


class NativeReader:
    """Reads as CsvFile, JsonFile and ParquetFile do, with FOCUS columns in the place of the file's own."""

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
        """Liberties taken with numbers in the newest pass."""
        self.rows_read = 0
        """Rows of the file in the newest pass, with those that the mapping leaves out."""
        self._window = _Window()

    def __copy__(self) -> NativeReader:
        """A second look at the same file, which leaves the state of the first alone."""
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
        """How a message names a FOCUS column of this file: by the native one that it is of."""
        native = self.mapping.sources.get(column) or ", ".join(self.mapping.columns.get(column, ())[:1])
        return f"{native} ({column})" if native and native != column else column

    def row(self, index: int) -> str:
        """How a report names the line `index` (from 0)."""
        return self.file.row(self._window.native_row(index))

    def where(self, index: int) -> str:
        """The same with its line in the file."""
        return self.file.where(self._window.native_row(index))

    def batches(self, texts: Sequence[int], plain: Sequence[int]) -> Iterator[Mapping[int, pa.Array]]:
        """FOCUS columns by position, batch after batch. FocusFileError names the file's own row and column."""
        self.mapping.begin()
        self.findings, self._window, self.rows_read = Findings(), _Window(), 0
        try:
            yield from self._batches((*texts, *plain))
        finally:
            # All readers of an import stay until its end: a batch that each held would be memory by the file.
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
        """Lines that the mapping adds; messages name the last row of the file for them."""
        lines = self.mapping.extra_lines()
        if not lines:
            return
        size = len(next(iter(lines.values())))
        self._window = _Window(start, native_rows - 1, pa.repeat(pa.scalar(0), size))
        nothing = pa.nulls(size, pa.string())
        yield {place: lines.get(name, nothing) for place, name in zip(places, columns, strict=True)}

    def _native_places(self, columns: Sequence[str]) -> tuple[list[int], list[int]]:
        """Places of the file's columns that these FOCUS columns are made of: those with few different values, and others."""
        wanted = [name for column in columns for name in self.mapping.columns[column]]
        names = list(dict.fromkeys([*self.mapping.needed, *wanted])) or self.file.names[:1]
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
        """A mapping may put many columns into one, as tags: together they have the bounds of one."""
        for name, values in columns.items():
            check_column(values, name, self.name, lambda index: self.row(start + index))


def native_reader(file: TableFile, defaults: Mapping[str, str]) -> NativeReader | None:
    """The file as FOCUS columns when a native format recognises it; None when it has FOCUS's BilledCost or none does.

    FocusFileError for a recognised file that lacks what a line must have and `defaults` do not give.
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
        lacking = join_with_and([reader.source_of(column) for column in missing])
        raise FocusFileError(
            f"{file.name} is an export in the format “{mapping.title}” without {lacking}. {SET_HINT}",
            field=missing[0],
            value=missing,
        )
    return reader


def relate(readers: Sequence[NativeReader], chosen: FormatChoice) -> None:
    """Lets each format see all of its files of an import. FocusFileError for files that do not go together."""
    for format_ in dict.fromkeys(reader.native_format for reader in readers):
        own = [reader for reader in readers if reader.native_format is format_]
        format_.relate([NativeFile(reader.mapping, reader.file) for reader in own], chosen)
