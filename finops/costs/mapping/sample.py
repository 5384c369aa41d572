"""The first lines of a file with any columns: its column names and values, to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import CAST_ERRORS, printable
from finops.costs.focus.open_files import FocusFile, open_table
from finops.lib.sentences import truncate

SAMPLE_ROWS: Final = 1_000
SAMPLE_VALUES: Final = 200
"""The maximum of different values of a column, from which its type is guessed."""
SHOWN_VALUES: Final = 3
SHOWN_LENGTH: Final = 24


@dataclass(frozen=True)
class SampleColumn:
    """A column of a file: its name in the header, its first different values as text, and whether the file stores
    them as times or numbers."""

    name: str
    values: tuple[str, ...]
    has_times: bool = False
    has_numbers: bool = False

    @property
    def label(self) -> str:
        """The label in a list of choices: `Betrag — 1.234,56, 12,00`."""
        shown = " · ".join(truncate(printable(value), SHOWN_LENGTH) for value in self.values[:SHOWN_VALUES])
        return f"{printable(self.name)} — {shown}" if shown else printable(self.name)


@dataclass(frozen=True)
class Sample:
    """The columns of a file."""

    file: str
    columns: tuple[SampleColumn, ...]
    delimiter: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def sample_of(file: FocusFile) -> Sample:
    """Read the first batch of lines. FocusFileError for a file that is neither CSV nor Parquet, or unreadable."""
    table = open_table(file)
    batch = next(table.batches([], list(range(len(table.names)))), None)
    columns = tuple(
        _column(name, batch[place] if batch is not None else pa.array([], pa.string()))
        for place, name in enumerate(table.names)
    )
    return Sample(table.name, columns, table.delimiter)


def _column(name: str, values: pa.Array) -> SampleColumn:
    first = values.slice(0, SAMPLE_ROWS)
    if pa.types.is_dictionary(first.type):
        first = first.dictionary_decode()
    has_times = pa.types.is_timestamp(first.type) or pa.types.is_date(first.type)
    try:
        texts = first.cast(pa.string())
    except CAST_ERRORS:
        texts = pa.array([None if each is None else str(each) for each in first.to_pylist()], pa.string())
    distinct = [text for text in pc.unique(texts).to_pylist() if text is not None and text.strip()]
    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    has_numbers = any(is_kind(first.type) for is_kind in is_number)
    return SampleColumn(name, tuple(distinct[:SAMPLE_VALUES]), has_times, has_numbers)
