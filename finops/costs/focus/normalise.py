"""Files in, spooled months and a report out. Memory stays bounded however large the files are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import columns as spec
from finops.costs.focus import commitments, convert
from finops.costs.focus.commitments import Commitment
from finops.costs.focus.csvfile import CsvFile
from finops.costs.focus.errors import BadCell, FocusFileError, printable, shown
from finops.costs.focus.findings import Findings
from finops.costs.focus.header import Header, check_defaults, read_header
from finops.costs.focus.parquetfile import ParquetFile
from finops.costs.focus.report import FileReport, ImportReport, MonthReport, Total
from finops.costs.focus.sniff import Format, sniff
from finops.costs.focus.spool import FLAT_TAGS, SPOOL_SCHEMA, MonthRows, Spool
from finops.costs.focus.tags import Tags
from finops.lake.schema import MONEY

DEFAULT_ACTOR_TAG_KEYS: Final = ("aws:createdBy", "Oracle-Tags.CreatedBy", "createdBy", "owner")
MAX_MONTHS: Final = 120
LISTED_KEYS: Final = 200
_SUMS: Final = Context(prec=76)

Progress = Callable[[int, int], None]
"""Called after each batch with the bytes read so far, over all files, and the rows."""


@dataclass(frozen=True)
class FocusFile:
    """A file to import, and what its owner calls it."""

    path: Path
    name: str


@dataclass
class Normalised:
    """What `normalise` leaves: months to read from the spool, commitments, and the report."""

    months: list[MonthRows] = field(default_factory=list)
    commitments: list[Commitment] | None = None
    """None when no file was of that dataset."""
    report: ImportReport = field(default_factory=ImportReport)


def normalise(
    files: Sequence[FocusFile],
    *,
    folder: Path,
    source_id: str,
    defaults: Mapping[str, str] | None = None,
    actor_tag_keys: Sequence[str] = DEFAULT_ACTOR_TAG_KEYS,
    progress: Progress | None = None,
) -> Normalised:
    """Read all files and spool their rows by billing month into `folder`, which the caller removes afterwards.

    Files that share a month together form it. FocusFileError names the file, row and column that cannot be
    imported; UserError is for `defaults`. Nothing outside of `folder` is written.
    """
    run = _Run(folder, check_defaults(defaults or {}), progress)
    try:
        for file in files:
            run.read(file)
    finally:
        run.spool.close()
    return run.finish(source_id, actor_tag_keys)


class _Run:
    """The state of one import while its files are read."""

    def __init__(self, folder: Path, defaults: dict[str, str], progress: Progress | None) -> None:
        self.spool = Spool(folder)
        self._defaults = defaults
        self._progress = progress
        self._findings = Findings()
        self._tags = Tags()
        self._report = ImportReport(files=[])
        self._commitments: list[Commitment] | None = None
        self._months: dict[date, _Month] = {}
        self._bytes = 0

    def read(self, file: FocusFile) -> None:
        name = printable(file.name)
        reader = _opened(file.path, name)
        header = read_header(name, reader.names, self._defaults)
        report = _file_report(reader, header)
        self._report.files.append(report)
        for column in header.not_needed:
            self._findings.note("value_not_needed", column, first=name)
        take = self._take_commitments if header.dataset == spec.CONTRACT_COMMITMENT else self._take_costs
        for batch in reader.batches(*_wanted(header)):
            self._take(take, reader, header, report, batch)
        if not report.rows:
            raise FocusFileError(
                f"{name} has a header and no rows. Choose a period with costs and export it again."
            )
        self._bytes += reader.size

    def _take(
        self,
        take: Callable[[Mapping[int, pa.Array], Header], int],
        reader: CsvFile | ParquetFile,
        header: Header,
        report: FileReport,
        batch: Mapping[int, pa.Array],
    ) -> None:
        before = report.rows
        self._findings.begin_batch(lambda index: f"{header.name} {reader.row(before + index)}")
        try:
            rows = take(batch, header)
        except BadCell as bad:
            raise _refused(bad, header, reader, before) from bad
        self._findings.end_batch()
        report.rows += rows
        self._report.rows += rows if header.dataset == spec.COST_AND_USAGE else 0
        if self._progress:
            self._progress(self._bytes + reader.bytes_done, self._report.rows)

    def _take_commitments(self, batch: Mapping[int, pa.Array], header: Header) -> int:
        found = list(commitments.read_batch(batch, header, self._findings))
        self._commitments = (self._commitments or []) + found
        if len(self._commitments) > commitments.MAX_ROWS:
            raise FocusFileError(
                f"{header.name} has more than {commitments.MAX_ROWS:,} contract commitments."
            )
        return len(found)

    def _take_costs(self, batch: Mapping[int, pa.Array], header: Header) -> int:
        columns = _Columns(batch, header, self._findings, self._tags)
        periods = columns.days(spec.BILLING_PERIOD)
        months = pc.floor_temporal(periods, unit="month").cast(pa.date32())
        rows = pa.record_batch(
            [columns.of(name, periods) for name in SPOOL_SCHEMA.names], schema=SPOOL_SCHEMA
        )
        for month in pc.unique(months).to_pylist():
            self._spool_month(month, rows, months, header)
        return len(periods)

    def _spool_month(self, month: date, rows: pa.RecordBatch, months: pa.Array, header: Header) -> None:
        if month not in self._months and len(self._months) >= MAX_MONTHS:
            raise FocusFileError(
                f"{header.name} has more than {MAX_MONTHS} billing months. Is {spec.BILLING_PERIOD} the right column?"
            )
        chosen = pc.equal(months, pa.scalar(month, pa.date32()))
        part = rows if pc.all(chosen).as_py() else rows.filter(chosen)
        self.spool.write(month, part)
        self._months.setdefault(month, _Month()).add(part)

    def finish(self, source_id: str, actor_tag_keys: Sequence[str]) -> Normalised:
        keys, dropped = self._tags.kept_keys(), self._tags.dropped_keys()
        if dropped:
            rows = sum(self._tags.key_rows[key] for key in dropped)
            self._findings.note("tags_over_limit", spec.TAGS, rows=rows, first=f"{len(dropped)} keys")
        self._report.months = [_month_report(month, self._months[month]) for month in sorted(self._months)]
        self._report.findings = self._findings.all()
        self._report.commitments = len(self._commitments or ())
        self._report.tag_keys = dict(self._tags.key_rows.most_common(LISTED_KEYS))
        self._report.tag_keys_dropped = dropped[:LISTED_KEYS]
        months = [
            MonthRows(self.spool, month, source_id, keys, actor_tag_keys) for month in self.spool.months
        ]
        return Normalised(months, self._commitments, self._report)


class _Month:
    """Rows and exact sums of one billing month, by currency."""

    def __init__(self) -> None:
        self.rows = 0
        self.sums: dict[str, tuple[Decimal, Decimal]] = {}

    def add(self, part: pa.RecordBatch) -> None:
        self.rows += part.num_rows
        table = pa.Table.from_batches([part.select(["currency", "billed_cost", "effective_cost"])])
        sums = table.group_by("currency").aggregate([("billed_cost", "sum"), ("effective_cost", "sum")])
        for row in sums.to_pylist():
            billed, effective = self.sums.get(row["currency"], (Decimal(0), Decimal(0)))
            self.sums[row["currency"]] = (
                _SUMS.add(billed, row["billed_cost_sum"]),
                _SUMS.add(effective, row["effective_cost_sum"]),
            )


class _Columns:
    """The cost columns of one batch."""

    def __init__(self, batch: Mapping[int, pa.Array], header: Header, findings: Findings, tags: Tags) -> None:
        self._batch = batch
        self._header = header
        self._findings = findings
        self._tags = tags
        self._size = len(next(iter(batch.values())))
        self._texts: dict[str, pa.DictionaryArray] = {}

    def of(self, name: str, periods: pa.Array) -> pa.Array:
        """The column `name` of the spool."""
        if name == "charge_date":
            return self._charge_days(periods)
        if name == FLAT_TAGS:
            return self._flat_tags()
        if name in spec.AMOUNTS:
            return self._amount(spec.AMOUNTS[name])
        if name == "currency":
            return self._currency()
        return self._first(spec.ACTOR_COLUMNS if name == "actor" else spec.TEXTS[name])

    def days(self, column: str) -> pa.Array:
        return self._complete(column, convert.day(self._raw(column), column, self._noting(column)))

    def _charge_days(self, periods: pa.Array) -> pa.Array:
        if not self._header.has(spec.CHARGE_PERIOD):
            self._findings.cells(
                "charge_period_from_billing_period", spec.CHARGE_PERIOD, pc.is_valid(periods)
            )
            return periods
        days = convert.day(
            self._raw(spec.CHARGE_PERIOD), spec.CHARGE_PERIOD, self._noting(spec.CHARGE_PERIOD)
        )
        if not days.null_count:
            return days
        self._findings.cells("charge_period_from_billing_period", spec.CHARGE_PERIOD, pc.is_null(days))
        return pc.coalesce(days, periods)

    def _flat_tags(self) -> pa.Array:
        if not self._header.has(spec.TAGS):
            return _nothing(self._size)
        return self._tags.flat(self._raw(spec.TAGS), spec.TAGS, self._noting(spec.TAGS))

    def _amount(self, column: str) -> pa.Array:
        if not self._header.has(column):
            return pa.nulls(self._size, MONEY)
        return self._complete(column, convert.amount(self._raw(column), column, self._noting(column)))

    def _currency(self) -> pa.DictionaryArray:
        (column,) = spec.TEXTS["currency"]
        return convert.currency(self._text(column), column, self._noting(column))

    def _first(self, names: Sequence[str]) -> pa.DictionaryArray:
        """The first of these FOCUS columns with a value, row by row."""
        present = [self._text(name) for name in names if self._header.has(name)]
        if not present:
            return _nothing(self._size)
        found = present[0]
        for other in present[1:]:
            if found.null_count:
                found = pc.coalesce(found.dictionary_decode(), other.dictionary_decode()).dictionary_encode()
        return found

    def _text(self, column: str) -> pa.DictionaryArray:
        if column not in self._texts:
            values = convert.text(self._raw(column), column, self._noting(column))
            self._texts[column] = self._complete(column, values)
        return self._texts[column]

    def _complete(self, column: str, values: pa.Array) -> pa.Array:
        """Refuses an empty cell where a row is worthless without; counts one where FOCUS wants a value."""
        if not values.null_count:
            return values
        if column in spec.NEVER_NULL:
            index = pc.index(pc.is_null(values), True).as_py()
            raise BadCell(column, index, None, "it is empty, and every cost line has one")
        if column in spec.EXPECTED:
            self._findings.cells("empty_expected", column, pc.is_null(values))
        return values

    def _noting(self, column: str) -> Findings:
        """Where untidiness of `column` is counted; a value that the owner gave is none of the file's."""
        return Findings() if column in self._header.supplied else self._findings

    def _raw(self, column: str) -> pa.Array:
        if column in self._header.position:
            return self._batch[self._header.position[column]]
        if column in self._header.copied:
            return self._batch[self._header.position[self._header.copied[column]]]
        return pa.repeat(pa.scalar(self._header.supplied[column]), self._size)


def _nothing(size: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.nulls(size, pa.int32()), pa.array([], pa.string()))


def _opened(path: Path, name: str) -> CsvFile | ParquetFile:
    format_, head = sniff(path, name)
    return ParquetFile(path, name) if format_ is Format.PARQUET else CsvFile(path, name, format_, head)


def _wanted(header: Header) -> tuple[list[int], list[int]]:
    """The places of the columns to read: those of texts, days and tags, and those of amounts."""
    if header.dataset == spec.CONTRACT_COMMITMENT:
        amounts = set(spec.COMMITMENT_AMOUNTS.values())
        used: Iterator[str] = iter(spec.COMMITMENT_COLUMNS)
    else:
        amounts = set(spec.AMOUNTS.values())
        texts = [name for names in spec.TEXTS.values() for name in names]
        days = (spec.BILLING_PERIOD, spec.CHARGE_PERIOD, spec.TAGS)
        used = iter(dict.fromkeys([*texts, *days, *spec.ACTOR_COLUMNS, *amounts, *header.copied.values()]))
    present = [name for name in used if name in header.position]
    return (
        [header.position[name] for name in present if name not in amounts],
        [header.position[name] for name in present if name in amounts],
    )


def _file_report(reader: CsvFile | ParquetFile, header: Header) -> FileReport:
    return FileReport(
        name=header.name,
        format=reader.format.value,
        dataset=header.dataset,
        focus_version=header.version,
        bytes=reader.size,
        columns=len(header.names),
        delimiter=reader.delimiter,
        missing=list(header.missing),
        supplied={**header.supplied, **{column: f"@{of}" for column, of in header.copied.items()}},
        extensions=list(header.extensions),
        stray=list(header.stray),
    )


def _month_report(month: date, found: _Month) -> MonthReport:
    totals = [
        Total(currency, billed, effective) for currency, (billed, effective) in sorted(found.sums.items())
    ]
    return MonthReport(f"{month:%Y-%m}", found.rows, totals)


def _refused(bad: BadCell, header: Header, reader: Any, before: int) -> FocusFileError:
    if bad.column in header.supplied:
        return FocusFileError(
            f"The value {shown(header.supplied[bad.column])} given for {bad.column} does not fit: {bad.problem}.",
            field="defaults",
            value=header.supplied[bad.column],
        )
    if bad.index < 0:
        return FocusFileError(
            f"{header.name}, column {bad.column}: {bad.problem} ({bad.value}).", field=bad.column
        )
    where = reader.where(before + bad.index)
    value = "" if bad.value is None else f" {shown(bad.value)}"
    return FocusFileError(
        f"{header.name}, {where}, column {bad.column}:{value} {bad.problem}. Correct it and import the file again; "
        "nothing of it was imported.",
        field=bad.column,
        value=bad.value,
    )
