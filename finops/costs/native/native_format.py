"""What a native format is: which files are of it, and how their lines become FOCUS columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import pyarrow as pa

from finops.costs.focus.csvfile import CsvFile
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.jsonfile import JsonFile
from finops.costs.focus.parquetfile import ParquetFile
from finops.costs.native.native_batch import NativeBatch

TableFile = CsvFile | ParquetFile | JsonFile
"""A file of which the columns are known."""


class NativeMapping(ABC):
    """The mapping of one file. A subclass sets the attributes in `__init__`, by the columns that the file has.

    A pass over the file calls `begin`, then for each batch `prepare` and `column` for each FOCUS column that is wanted, and
    `end`. Files are read more than once, so what `begin` makes new must not be shared with a copy of the mapping.
    """

    title: str
    """What the file is, as the import's report says it: "AWS Cost and Usage Report (legacy CUR)"."""
    columns: Mapping[str, tuple[str, ...]]
    """FOCUS (or x_) column -> the columns of the file, named as there, that it is made of. What is not needed is not read."""
    sources: Mapping[str, str] = {}
    """FOCUS column -> the name by which messages call the native column that it is of, also when the file lacks it."""
    needed: tuple[str, ...] = ()
    """Columns of the file that `prepare` needs; read in every pass."""
    plain: frozenset[str] = frozenset()
    """Columns of the file with mostly different values (amounts, resources), read without a dictionary."""

    has_text_numbers: bool = False
    """Whether `column` leaves numbers as texts, whose decimal mark the importer then finds out for the whole file."""

    def begin(self) -> None:
        """A pass over the file begins."""
        return

    def end(self) -> None:
        """A pass over the file ended, also early: lets go of its last batch, because all mappings of an import stay."""
        return

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        """The batch with the lines that count: `batch.take(…)` leaves lines out or makes several of one."""
        return batch

    @abstractmethod
    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        """The FOCUS column `name` of a prepared batch, as a FOCUS file would have it.

        BadCell names a native column and the line's place in the file's batch.
        """

    def extra_lines(self) -> Mapping[str, pa.Array]:
        """FOCUS columns of lines that no line of the file is, known once all of it was read; columns left out are null.

        Asked for at the end of a pass that reads BilledCost. Empty: there are none.
        """
        return {}

    def notes(self) -> Sequence[str]:
        """What the report says of the mapping once the file was read: what the format cannot tell, and why."""
        return ()


class NativeFormat(ABC):
    """One native format. Registered by being the only public subclass in a module of `formats/`."""

    title: ClassVar[str]
    """As docs and pages name it: "AWS Cost and Usage Report"."""
    order: ClassVar[int] = 100
    """A format that looks more closely is asked first: lower."""
    cell_error: ClassVar[type[FocusFileError]] = FocusFileError
    """Of a value that does not fit."""

    @abstractmethod
    def recognises(self, names: Sequence[str]) -> bool:
        """Whether a file with these columns is of this format. A file with FOCUS's BilledCost never gets here."""

    @abstractmethod
    def mapping(self, names: Sequence[str], file: str) -> NativeMapping:
        """The mapping of a recognised file. FocusFileError for a file that lacks what no default can give."""

    def relate(self, files: Sequence[NativeFile], chosen: FormatChoice) -> None:
        """Sees all files of this format in one import, before their columns are used, and what their owner says of numbers
        and dates. It may read them, and change the mappings.

        For formats whose files belong together, as Azure's actual and amortized cost. FocusFileError for files that do not.
        """
        return


class NativeFile(NamedTuple):
    """A file and its mapping."""

    mapping: NativeMapping
    file: TableFile
