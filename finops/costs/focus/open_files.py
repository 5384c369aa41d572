"""A file that has been opened and whose columns are known, and the survey of files that need no spool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from finops.costs.focus import columns as spec
from finops.costs.focus.csvfile import CsvFile
from finops.costs.focus.errors import BadCell, FocusFileError, display_value, printable
from finops.costs.focus.formats import AUTOMATIC, FormatChoice, Formats
from finops.costs.focus.header import Header, import_columns, read_header
from finops.costs.focus.jsonfile import JsonFile
from finops.costs.focus.parquetfile import ParquetFile
from finops.costs.focus.report import Findings
from finops.costs.focus.rows import Columns, split_by_month
from finops.costs.focus.sniff import Format, sniff
from finops.costs.focus.tags import Tags
from finops.costs.mapping.document import MappingDocument
from finops.costs.mapping.document_reader import document_reader, is_of_a_format
from finops.costs.native.native_format import NO_OTHER_FILES, OtherFiles, TableFile
from finops.costs.native.native_reader import NativeReader, native_reader, relate
from finops.lake.schema import EXTENSION_PREFIX

Reader = TableFile | NativeReader


@dataclass(frozen=True)
class FocusFile:
    """A file to import, and its owner's name for it."""

    path: Path
    name: str


class PartOfFiles(NamedTuple):
    """What reading a part of an import's files depends on: the optional columns of all files (None: those of the read
    files), and the other files."""

    optional: Sequence[str] | None = None
    others: OtherFiles = NO_OTHER_FILES


ALL_FILES: Final = PartOfFiles()


@dataclass(frozen=True)
class OpenFile:
    """A file with parsed columns."""

    reader: Reader
    header: Header
    formats: Formats

    def columns_to_read(self, *names: str) -> tuple[list[int], list[int]]:
        """Return indexes of the columns to read, all used ones or only `names`.

        First those with few different values (texts, days, tags), then the others (amounts, resources).
        """
        header = self.header
        dense = [name for column in spec.DENSE for name in spec.TEXTS[column]]
        plain = {*spec.AMOUNTS.values(), *spec.OTHER_AMOUNTS, *dense}
        columns = [name for name in names or _used_columns(header) if name in header.position]
        dense_places = dict.fromkeys(header.position[name] for name in columns if name in plain)
        few = dict.fromkeys(header.position[name] for name in columns if name not in plain)
        return [place for place in few if place not in dense_places], list(dense_places)

    @property
    def has_text_numbers(self) -> bool:
        """Return whether its numbers may be in more than one format."""
        if isinstance(self.reader, CsvFile):
            return True
        if isinstance(self.reader, NativeReader):
            return self.reader.mapping.has_text_numbers
        numbers = (*spec.AMOUNTS.values(), *spec.OTHER_AMOUNTS)
        places = [self.header.position[name] for name in numbers if name in self.header.position]
        return any(self.reader.is_text(place) for place in places)


def _used_columns(header: Header) -> tuple[str, ...]:
    if header.dataset in spec.DATASETS:
        return spec.DATASETS[header.dataset].all
    own = [name for name in header.position if name.startswith(EXTENSION_PREFIX)]
    return (*import_columns(), *spec.ACTOR_COLUMNS, *own)


def open_files(
    files: Sequence[FocusFile],
    defaults: Mapping[str, str],
    choice: FormatChoice,
    mapping: MappingDocument | None = None,
    others: OtherFiles = NO_OTHER_FILES,
) -> list[OpenFile]:
    """Open the files. FocusFileError for a file that is neither FOCUS nor of a native format nor has the columns of
    the `mapping`, or lacks mandatory columns."""
    readers = [_reader(file, defaults, mapping) for file in files]
    relate([reader for reader in readers if isinstance(reader, NativeReader)], choice, others)
    return [_open(reader, defaults, choice) for reader in readers]


def open_table(file: FocusFile) -> TableFile:
    """Open the file with its own columns, whatever they are. FocusFileError if it is not a table."""
    name = printable(file.name)
    format_, head = sniff(file.path, name)
    if format_ is Format.PARQUET:
        return ParquetFile(file.path, name)
    if format_.is_json:
        return JsonFile(file.path, name, format_, head)
    return CsvFile(file.path, name, format_, head)


def has_columns_of_a_format(file: FocusFile) -> bool:
    """Return whether the file is FOCUS or of a native format. FocusFileError if it is not a table."""
    return is_of_a_format(open_table(file))


def _reader(file: FocusFile, defaults: Mapping[str, str], mapping: MappingDocument | None) -> Reader:
    table = open_table(file)
    mapped = document_reader(table, mapping) if mapping else None
    return mapped or native_reader(table, defaults) or table


def _open(reader: Reader, defaults: Mapping[str, str], choice: FormatChoice) -> OpenFile:
    header = read_header(reader.name, reader.names, defaults)
    return OpenFile(reader, header, Formats(reader, header, choice))


@dataclass(frozen=True)
class Survey:
    """The result of a first pass over Parquet files: their one billing month, and their tag keys with their rows."""

    month: date
    tags: Tags

    @property
    def keys(self) -> list[str]:
        return self.tags.kept_keys()

    @property
    def key_rows(self) -> Counter[str]:
        return self.tags.key_rows


def survey(files: Sequence[OpenFile]) -> Survey | None:
    """Read billing periods and tags; None unless all files are Parquet with the same billing month."""
    if not all(
        open_file.reader.format is Format.PARQUET and open_file.header.dataset == spec.COST_AND_USAGE
        for open_file in files
    ):
        return None
    tags = Tags()
    months: set[date] = set()
    for opened in files:
        if opened.has_text_numbers:
            opened.formats.number_format()
        for month in _months(opened, tags):
            months.add(month)
            if len(months) > 1:
                return None
    return Survey(months.pop(), tags) if months else None


def first_billing_month(
    file: FocusFile, mapping: MappingDocument | None = None, defaults: Mapping[str, str] | None = None
) -> date | None:
    """Return the billing month of the first line; None without lines. Reads one batch. Raises FocusFileError for a
    file that is not FOCUS and cannot be read by the `mapping`."""
    return next(_months(open_files([file], defaults or {}, AUTOMATIC, mapping)[0], Tags()), None)


def _months(opened: OpenFile, tags: Tags) -> Iterator[date]:
    before = 0
    if not opened.columns_to_read(spec.BILLING_PERIOD)[0]:
        return
    for batch in opened.reader.batches(*opened.columns_to_read(spec.BILLING_PERIOD, spec.TAGS)):
        columns = Columns(batch, opened.header, Findings(), tags, opened.formats)
        try:
            periods = columns.periods()
            columns.tags()
        except BadCell as bad:
            raise cell_error(bad, opened, before) from bad
        before += len(periods)
        yield from (month for month, _ in split_by_month(pa.record_batch([periods], ["period"]), periods))


def cell_error(bad: BadCell, opened: OpenFile, before: int) -> FocusFileError:
    """Return the owner's error about a value in a batch that starts after `before` rows."""
    header, reader = opened.header, opened.reader
    if bad.column in header.supplied:
        return FocusFileError(
            f"The value {display_value(header.supplied[bad.column])} given for {bad.column} {bad.problem}.",
            field="defaults",
            value=header.supplied[bad.column],
        )
    column, error = bad.column, FocusFileError
    if isinstance(reader, NativeReader):
        column, error = reader.source_of(bad.column), reader.native_format.cell_error
    if bad.index < 0:
        return error(f"{header.name}: column {column} {bad.problem}: {bad.value}.", field=bad.column)
    where = reader.where(before + bad.index)
    value = "" if bad.value is None else f" {display_value(bad.value)}"
    return error(
        f"{header.name}, {where}, column {column}:{value} {bad.problem}. Correct the value and try again; "
        "the file was not imported.",
        field=bad.column,
        value=bad.value,
    )
