"""Preview of a column mapping on a file: its first lines, sums, and unreadable lines. Nothing is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import columns as spec
from finops.costs.focus.convert import currency
from finops.costs.focus.errors import BadCell, display_value
from finops.costs.focus.open_files import FocusFile, open_table
from finops.costs.focus.parquetfile import ParquetFile
from finops.costs.focus.report import Findings
from finops.costs.mapping.document import BILLED_COST, MappingDocument
from finops.costs.mapping.document_mapping import (
    CHARGE_CATEGORY,
    DocumentMapping,
    check_columns,
    unknown_categories,
)
from finops.costs.native.native_batch import NativeBatch
from finops.costs.native.native_format import TableFile
from finops.lib.money import exact_sum

MAX_ROWS: Final = 100_000
"""The maximum of lines; of a longer file the first are read."""
SHOWN_LINES: Final = 20
_MAX_TRIES: Final = 4_000
"""The maximum of attempts to find unreadable values; undecided ones then count as unreadable."""
_EMPTY: Final = "is empty, but required for cost lines"


@dataclass(frozen=True)
class PreviewLine:
    """A line as it would be imported, values by FOCUS column; `problem` if it is unreadable."""

    row: str
    values: Mapping[str, Any]
    problem: str = ""


@dataclass
class Preview:
    """The preview. Sums cover readable lines, by month and currency, and by service and currency."""

    columns: list[str] = field(default_factory=list)
    lines: list[PreviewLine] = field(default_factory=list)
    months: dict[tuple[date, str], Decimal] = field(default_factory=dict)
    services: dict[tuple[str, str], Decimal] = field(default_factory=dict)
    unknown_categories: Counter[str] = field(default_factory=Counter)
    """Lines by charge category that FOCUS does not have; such a value is imported unchanged."""
    rows: int = 0
    """Lines read from the file, including unreadable and left-out ones."""
    skipped: int = 0
    unreadable: int = 0
    problem: str = ""
    """The error of the first unreadable line."""
    is_whole: bool = True

    @property
    def totals(self) -> dict[str, Decimal]:
        """Totals by currency."""
        codes = dict.fromkeys(code for _, code in self.months)
        return {
            code: exact_sum(amount for (_, other), amount in self.months.items() if other == code)
            for code in codes
        }


def preview_of(file: FocusFile, document: MappingDocument) -> Preview:
    """Return the preview. The document must be valid. FocusFileError for an unreadable file, or missing columns."""
    table = open_table(file)
    check_columns(document, table.names, table.name)
    return _PreviewRun(table, DocumentMapping(document, table.names)).run()


@dataclass
class _Bisection:
    """A search for unreadable values of a FOCUS column: `batch` returns the values between two indexes."""

    name: str
    batch: Callable[[int, int], NativeBatch]
    parts: list[pa.Array] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)

    def values(self) -> pa.Array:
        """Return all values, null for unreadable ones."""
        typed = next((part.type for part in self.parts if not pa.types.is_null(part.type)), pa.string())
        return pa.concat_arrays([part.cast(typed) for part in self.parts])


class _PreviewRun:
    def __init__(self, table: TableFile, mapping: DocumentMapping) -> None:
        self._table, self._mapping = table, mapping
        self._preview = Preview(columns=list(mapping.columns))
        self._tries = _MAX_TRIES

    def run(self) -> Preview:
        preview, names = self._preview, self._table.names
        self._mapping.begin()
        used = {each for columns in self._mapping.columns.values() for each in columns}
        places = [place for place, name in enumerate(names) if name in used]
        for raw in self._table.batches([], places):
            size = min(len(next(iter(raw.values()))), MAX_ROWS - preview.rows)
            columns = {names[place]: raw[place].slice(0, size) for place in places}
            self._add(NativeBatch(columns, size, Findings()))
            preview.is_whole = size == len(next(iter(raw.values())))
            if preview.rows >= MAX_ROWS:
                preview.is_whole = preview.is_whole and self._is_end()
                break
        return preview

    def _is_end(self) -> bool:
        return isinstance(self._table, ParquetFile) and self._table.rows <= MAX_ROWS

    def _add(self, batch: NativeBatch) -> None:
        preview = self._preview
        before, lines = preview.rows, self._mapping.prepare(batch)
        preview.rows += batch.size
        preview.skipped += batch.size - lines.size
        if not lines.size:
            return
        bad: dict[int, str] = {}
        columns = {name: self._column(name, lines, bad) for name in self._mapping.columns}
        for name in (spec.CHARGE_PERIOD, BILLED_COST, "BillingCurrency", CHARGE_CATEGORY):
            for index in _places(pc.is_null(columns[name])):
                bad.setdefault(index, f"column {self._native(name)} {_EMPTY}")
        origin = lines.origin
        rows = (index if origin is None else origin[index].as_py() for index in range(lines.size))
        shown = [self._table.row(before + row) for row, _ in zip(rows, range(SHOWN_LINES), strict=False)]
        if bad and not preview.problem:
            first = min(bad)
            place = first if origin is None else origin[first].as_py()
            preview.problem = f"{self._table.row(before + place)}, {bad[first]}."
        preview.unreadable += len(bad)
        preview.unknown_categories.update(unknown_categories(columns[CHARGE_CATEGORY]))
        self._show(columns, shown, bad)
        self._sum(columns, lines.size, bad)

    def _native(self, name: str) -> str:
        return ", ".join(self._mapping.columns[name]) or name

    def _column(self, name: str, lines: NativeBatch, bad: dict[int, str]) -> pa.Array:
        """Return a FOCUS column, null for unreadable values, whose errors go to `bad` by line."""
        try:
            return self._convert(name, lines)
        except BadCell as error:
            if error.index < 0:
                problem = f"column {error.column} {error.problem}"
                bad.update((index, problem) for index in range(lines.size) if index not in bad)
                return pa.nulls(lines.size, pa.string())
        if len(self._mapping.columns[name]) != 1:
            by_line = _Bisection(name, lambda start, stop: lines.take(pa.array(range(start, stop))))
            self._read_each(by_line, 0, lines.size)
            for index, problem in by_line.problems.items():
                bad.setdefault(index, problem)
            return by_line.values()
        native = self._mapping.columns[name][0]
        encoded = lines.column(native)
        encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
        distinct = encoded.dictionary
        by_value = _Bisection(
            name,
            lambda start, stop: NativeBatch(
                {native: distinct.slice(start, stop - start)}, stop - start, Findings()
            ),
        )
        self._read_each(by_value, 0, len(distinct))
        for index, code in enumerate(encoded.indices.to_pylist()):
            if code in by_value.problems:
                bad.setdefault(index, by_value.problems[code])
        return by_value.values().take(encoded.indices)

    def _convert(self, name: str, lines: NativeBatch) -> pa.Array:
        values = self._mapping.column(name, lines)
        if name == "BillingCurrency":
            values = currency(values, self._native(name), Findings())
        return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values

    def _read_each(self, bisection: _Bisection, start: int, stop: int) -> None:
        """Halve the values until each part is readable or is one unreadable value."""
        self._tries -= 1
        size = stop - start
        try:
            bisection.parts.append(self._convert(bisection.name, bisection.batch(start, stop)))
            return
        except BadCell as error:
            if size == 1 or self._tries <= 0:
                text = f"column {error.column}: {display_value(error.value)} {error.problem}"
                bisection.problems.update((place, text) for place in range(start, stop))
                bisection.parts.append(pa.nulls(size))
                return
        half = start + size // 2
        self._read_each(bisection, start, half)
        self._read_each(bisection, half, stop)

    def _show(self, columns: Mapping[str, pa.Array], rows: list[str], bad: Mapping[int, str]) -> None:
        for index, row in enumerate(rows[: SHOWN_LINES - len(self._preview.lines)]):
            values = {name: values[index].as_py() for name, values in columns.items()}
            self._preview.lines.append(PreviewLine(row, values, bad.get(index, "")))

    def _sum(self, columns: Mapping[str, pa.Array], size: int, bad: Mapping[int, str]) -> None:
        preview = self._preview
        table = pa.table(
            {
                "month": columns[spec.BILLING_PERIOD].cast(pa.date32()),
                "currency": columns["BillingCurrency"],
                "service": columns["ServiceName"],
                "amount": columns[BILLED_COST].cast(pa.decimal256(60, 18)),
            }
        )
        if bad:
            table = table.filter(pa.array([index not in bad for index in range(size)]))
        groups = table.group_by(["month", "currency", "service"]).aggregate([("amount", "sum")])
        for each in groups.to_pylist():
            month, service = (each["month"], each["currency"]), (each["service"] or "", each["currency"])
            amount: Decimal = each["amount_sum"]
            preview.months[month] = exact_sum([preview.months.get(month, Decimal(0)), amount])
            preview.services[service] = exact_sum([preview.services.get(service, Decimal(0)), amount])


def _places(mask: pa.Array) -> Iterator[int]:
    yield from pc.indices_nonzero(mask).to_pylist()
