"""The interface of a native format: which files it recognises, and how their lines become FOCUS columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

import pyarrow as pa

from finops.costs.focus.csvfile import CsvFile
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.jsonfile import JsonFile
from finops.costs.focus.parquetfile import ParquetFile
from finops.costs.native.native_batch import NativeBatch

TableFile = CsvFile | ParquetFile | JsonFile
"""A file with known columns."""


class NativeMapping(ABC):
    """The mapping of one file. Subclasses set the attributes in `__init__`, by the columns that the file has.

    A pass over the file calls `begin`, then for each batch `prepare` and `column` for each requested FOCUS column,
    and `end`. Files are read more than once, so what `begin` creates must not be shared with a copy of the mapping.
    """

    title: str
    """The format's title in the import's report: "AWS Cost and Usage Report (legacy CUR)"."""
    columns: Mapping[str, tuple[str, ...]]
    """FOCUS (or x_) column -> the columns of the file, in its spelling, that it uses. Other columns are not read."""
    sources: Mapping[str, str] = {}
    """FOCUS column -> the name of its native column in messages, also if the file lacks it."""
    needed: tuple[str, ...] = ()
    """Columns of the file that `prepare` needs; read in every pass."""
    plain: frozenset[str] = frozenset()
    """Columns of the file with mostly different values (amounts, resources), read without a dictionary."""

    has_text_numbers: bool = False
    """Whether `column` returns numbers as texts, whose decimal mark the importer then decides for the whole file."""

    def begin(self) -> None:
        """Called when a pass over the file starts."""
        return

    def end(self) -> None:
        """Called when a pass over the file ends, also early: releases its last batch, as all mappings stay."""
        return

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        """Return the batch with the lines that count: `batch.take(…)` drops lines or duplicates them."""
        return batch

    @abstractmethod
    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        """Return the FOCUS column `name` of a prepared batch, as a FOCUS file would have it.

        BadCell names a native column and the line's index in the file's batch.
        """

    def extra_lines(self) -> Mapping[str, pa.Array]:
        """Return FOCUS columns of lines that are not in the file, known after reading all of it; others are null.

        Called at the end of a pass that reads BilledCost. Empty: there are none.
        """
        return {}

    def notes(self) -> Sequence[str]:
        """Return the report's notes on the mapping after the file was read: what the format lacks, and why."""
        return ()


class NativeFormat(ABC):
    """One native format. Registered by being the only public subclass in a module of `formats/`."""

    title: ClassVar[str]
    """The title in docs and on pages: "AWS Cost and Usage Report"."""
    order: ClassVar[int] = 100
    """The order in which formats are tried, lowest first; more specific formats are lower."""
    cell_error: ClassVar[type[FocusFileError]] = FocusFileError
    """Returns the error for a value that does not fit."""

    @abstractmethod
    def recognises(self, names: Sequence[str]) -> bool:
        """Return whether a file with these columns has this format. Not called for a file with FOCUS's BilledCost."""

    @abstractmethod
    def mapping(self, names: Sequence[str], file: str) -> NativeMapping:
        """Return the mapping of a recognised file. FocusFileError if it lacks columns without default."""

    def relate(self, files: Sequence[NativeFile], choice: FormatChoice, others: OtherFiles) -> None:
        """Relate all files of this format in one import, before their columns are used, with the owner's choice of
        number and date formats. May read the files and change the mappings. `others`: if these are a part of its files,
        with the decisions about these.

        For formats whose files belong together, such as Azure's actual and amortized cost. FocusFileError for others.
        """
        return

    def decisions(self, files: Sequence[NativeFile]) -> Sequence[str]:
        """Return what `relate` decided about each of all files, for processes that read a part of them. Empty: nothing."""
        return ()

    def last_needs_others(self, files: Sequence[NativeFile]) -> bool:
        """Return whether the last of all files is read after the others, with their `summary`. Called after `relate`."""
        return False

    def summary(self, files: Sequence[NativeFile]) -> bytes | None:
        """Return the data about these read files that the import's last file needs; None if it is too much to store."""
        return b""


class OtherFiles(NamedTuple):
    """The other files of an import that is read in parts: `NativeFormat.decisions` about the files of this part, the
    summaries of the parts before, in order, and whether other files are read after these."""

    decisions: tuple[str, ...] = ()
    earlier: tuple[bytes, ...] = ()
    more_follow: bool = False


NO_OTHER_FILES: Final = OtherFiles()


class NativeFile(NamedTuple):
    """A file and its mapping."""

    mapping: NativeMapping
    file: TableFile
