"""Convert files to spooled months and a report. Memory is bounded for files of any size."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from finops.costs.focus import columns as spec
from finops.costs.focus import datasets
from finops.costs.focus.datasets import MAX_ROWS, BillingPeriodRow, Commitment, DetailKey, InvoiceDetailRow
from finops.costs.focus.errors import BadCell, FocusFileError
from finops.costs.focus.formats import AUTOMATIC, DATES_SHOWN, NUMBERS_SHOWN, FormatChoice, LateDecimalComma
from finops.costs.focus.header import Header, check_defaults, optional_columns
from finops.costs.focus.months import MonthInFiles
from finops.costs.focus.open_files import (
    ALL_FILES,
    FocusFile,
    OpenFile,
    PartOfFiles,
    Reader,
    Survey,
    cell_error,
    open_files,
    survey,
)
from finops.costs.focus.prefetch_iterator import prefetch
from finops.costs.focus.report import (
    FileReport,
    Findings,
    ImportReport,
    MonthReport,
    Total,
    over_limit_finding,
)
from finops.costs.focus.rows import Columns, split_by_month
from finops.costs.focus.spool import MonthRows, Spool, spool_schema
from finops.costs.focus.tags import Tags
from finops.costs.focus.values import NumberFormat
from finops.costs.mapping.document import MappingDocument
from finops.costs.native.native_reader import NativeReader, summary_of

__all__ = ["DEFAULT_ACTOR_TAG_KEYS", "FocusFile", "NormalisedBill", "month_report", "normalise"]

DEFAULT_ACTOR_TAG_KEYS: Final = ("aws:createdBy", "Oracle-Tags.CreatedBy", "createdBy", "owner")
MAX_MONTHS: Final = 120
LISTED_KEYS: Final = 200

Progress = Callable[[int, int], None]
"""Called after each batch with the bytes read so far, over all files, and the rows."""


class NormalisedBill:
    """The result of `normalise`: months with readable rows, commitments, and the report.

    If `direct`, the one month is read from the files while its batches are consumed: errors are raised then,
    batches can be consumed once, and the report is complete only afterwards.
    """

    def __init__(self, run: _Run, months: list[MonthRows], *, direct: bool) -> None:
        self._run = run
        self.months = months
        self.direct = direct

    @property
    def commitments(self) -> list[Commitment] | None:
        """The commitments; None if no file was of that dataset."""
        return self._run.commitments

    @property
    def invoice_details(self) -> Sequence[InvoiceDetailRow]:
        return self._run.invoice_details

    @property
    def billing_periods(self) -> Sequence[BillingPeriodRow]:
        return self._run.billing_periods

    @property
    def tag_rows(self) -> Mapping[str, int]:
        """Every tag key with the rows that have it, in the order of the first; complete as `file_months` is."""
        return self._run.tag_rows

    @property
    def text_hashes(self) -> list[str]:
        """The digest of the decoded text of each gzip or UTF-16 file, after its rows were consumed; "" for others."""
        return [opened.reader.text_hash for opened in self._run.files]

    @property
    def summary(self) -> bytes | None:
        """The data about these files that the last file of the import needs (`NativeFormat.summary`); complete as `file_months` is."""
        return summary_of(
            [opened.reader for opened in self._run.files if isinstance(opened.reader, NativeReader)]
        )

    @property
    def file_months(self) -> Mapping[date, MonthInFiles]:
        """The content of the files by billing month; complete after every month's batches were consumed."""
        return self._run.months

    @property
    def report(self) -> ImportReport:
        return self._run.report()


def normalise(
    files: Sequence[FocusFile],
    *,
    folder: Path,
    source_id: str,
    defaults: Mapping[str, str] | None = None,
    actor_tag_keys: Sequence[str] = DEFAULT_ACTOR_TAG_KEYS,
    choice: FormatChoice = AUTOMATIC,
    progress: Progress | None = None,
    allow_empty: bool = False,
    only_month: date | None = None,
    mapping: MappingDocument | None = None,
    part: PartOfFiles = ALL_FILES,
) -> NormalisedBill:
    """Read all files and spool their rows by billing month into `folder`, which the caller removes afterwards. Files
    that share a month form it together. FocusFileError names the file, row and column that cannot be imported;
    UserError is for `defaults`. Writes only to `folder`. A file with a header and no rows is an error unless
    `allow_empty`; with `only_month`, so is a line of another billing month, and a file of another dataset.

    Parquet files that all have the same month are not spooled: a pass over two of their columns finds the tags, and
    then their rows go directly to the consumer of the batches.
    """
    opened = open_files(files, check_defaults(defaults or {}), choice, mapping, part.others)
    optional = optional_columns(each.header for each in opened) if part.optional is None else part.optional
    run = _Run(opened, progress, optional, allow_empty=allow_empty, only_month=only_month)
    for open_file in opened:
        if open_file.reader.delimiter not in (",", ""):
            open_file.formats.number_format()
    # The lines that a last file adds for the files before it may be of other months.
    first_survey = None if part.others.earlier else survey(opened)

    def rows(month: date, parts: Callable[[], Generator[pa.RecordBatch]], keys: Sequence[str]) -> MonthRows:
        return MonthRows(
            month,
            parts,
            source_id=source_id,
            optional=optional,
            tag_keys=keys,
            actor_tag_keys=actor_tag_keys,
            on_batch=run.report_progress,
        )

    if first_survey is not None:
        # One thread reads and maps, a second joins groups, a third writes.
        parts = partial(prefetch, run.direct(opened, first_survey), waiting=1)
        return NormalisedBill(run, [rows(first_survey.month, parts, first_survey.keys)], direct=True)
    run, spool = _spool_rows(run, opened, folder, progress)
    keys = run.tag_keys
    months = [rows(month, partial(spool.read, month), keys) for month in spool.months]
    return NormalisedBill(run, months, direct=False)


def _spool_rows(
    run: _Run, opened: Sequence[OpenFile], folder: Path, progress: Progress | None
) -> tuple[_Run, Spool]:
    """Spool the rows by month. A file whose decimal commas are found only after rows were read is read again from its
    start, by a new run."""
    try:
        with Spool(folder, run.schema) as spool:
            run.spool(opened, spool)
    except LateDecimalComma:
        for open_file in opened:
            open_file.formats.number_format()
        run = _Run(opened, progress, run.optional, allow_empty=run.allow_empty, only_month=run.only_month)
        with Spool(folder, run.schema) as spool:
            run.spool(opened, spool)
    return run, spool


class _Run:
    """The state of one import while its files are read."""

    def __init__(
        self,
        files: Sequence[OpenFile],
        progress: Progress | None,
        optional: Sequence[str],
        *,
        allow_empty: bool = False,
        only_month: date | None = None,
    ) -> None:
        self.files = files
        self.allow_empty = allow_empty
        self.only_month = only_month
        self.commitments: list[Commitment] | None = None
        self.invoice_details: list[InvoiceDetailRow] = []
        self.billing_periods: list[BillingPeriodRow] = []
        self._details_known: set[DetailKey] = set()
        self.optional = optional
        self.schema = spool_schema(optional)
        self._progress = progress
        self._findings = Findings()
        self._tags = Tags()
        self._reports: list[FileReport] = []
        self.months: dict[date, MonthInFiles] = {}
        self._bytes = 0
        self._reading: Reader | None = None
        for opened in files:
            for column in opened.header.left_out:
                self._findings.note("extension_left_out", column, first=opened.header.name)
            for column in opened.header.not_needed:
                self._findings.note("value_not_needed", column, first=opened.header.name)

    @property
    def tag_keys(self) -> list[str]:
        return self._tags.kept_keys()

    @property
    def tag_rows(self) -> Mapping[str, int]:
        return self._tags.key_rows

    def spool(self, files: Sequence[OpenFile], spool: Spool) -> None:
        for opened in files:
            for month, part in self._parts(opened):
                spool.write(month, part)
                self.report_progress()

    def direct(self, files: Sequence[OpenFile], first_survey: Survey) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the one month. FocusFileError if the files have changed since the survey."""
        for opened in files:
            for month, part in self._parts(opened):
                if (
                    month != first_survey.month
                    or not self._tags.key_rows.keys() <= first_survey.key_rows.keys()
                ):
                    raise FocusFileError(
                        f"{opened.header.name} was changed while it was imported. Import it again."
                    )
                yield part

    def report_progress(self) -> None:
        if self._progress and self._reading is not None:
            self._progress(self._bytes + self._reading.bytes_done, sum(file.rows for file in self._reports))

    def report(self) -> ImportReport:
        findings, dropped = self._findings.all(), self._tags.dropped_keys()
        if dropped:
            rows = sum(self._tags.key_rows[key] for key in dropped)
            findings.append(over_limit_finding(rows, len(dropped)))
        return ImportReport(
            files=self._reports,
            rows=sum(month.rows for month in self.months.values()),
            commitments=len(self.commitments or ()),
            invoice_details=len(self.invoice_details),
            billing_periods=len(self.billing_periods),
            months=[month_report(month, self.months[month]) for month in sorted(self.months)],
            findings=findings,
            tag_keys=dict(self._tags.key_rows.most_common(LISTED_KEYS)),
            tag_keys_dropped=dropped[:LISTED_KEYS],
        )

    def _parts(self, opened: OpenFile) -> Iterator[tuple[date, pa.RecordBatch]]:
        """Yield a file's rows by batch and billing month. Commitments are stored separately."""
        reader, header = opened.reader, opened.header
        report = _file_report(reader, header)
        self._reports.append(report)
        self._reading = reader
        for batch in reader.batches(*opened.columns_to_read()):
            size, parts = self._take_batch(opened, batch, report.rows)
            report.rows += size
            yield from parts
        left_out = isinstance(reader, NativeReader) and reader.rows_read
        if not report.rows and not self.allow_empty and not left_out:
            raise FocusFileError(f"{header.name} has a header but no rows. Export a period with cost.")
        _enter_formats(report, opened)
        if isinstance(reader, NativeReader):
            report.notes = list(reader.mapping.notes())
            self._findings.add(reader.findings)
        self._reading = None
        self._bytes += reader.size

    def _take_batch(
        self, opened: OpenFile, batch: Mapping[int, pa.Array], before: int
    ) -> tuple[int, list[tuple[date, pa.RecordBatch]]]:
        reader, header = opened.reader, opened.header
        self._findings.begin_batch(lambda index: f"{header.name} {reader.row(before + index)}")
        try:
            if header.dataset in spec.DATASETS:
                return self._take_dataset(batch, opened), []
            return self._take_costs(batch, opened)
        except BadCell as bad:
            raise cell_error(bad, opened, before) from bad
        finally:
            self._findings.end_batch()

    def _take_dataset(self, batch: Mapping[int, pa.Array], opened: OpenFile) -> int:
        header, before = opened.header, self._other_dataset_rows
        if self.only_month is not None:
            raise FocusFileError(
                f"{header.name} has rows of {header.dataset}; only {spec.COST_AND_USAGE} is accepted here."
            )
        arguments = batch, header, self._findings, opened.formats
        if header.dataset == spec.CONTRACT_COMMITMENT:
            self.commitments = self.commitments or []
            self.commitments.extend(datasets.read_commitments(*arguments))
        elif header.dataset == spec.INVOICE_DETAIL:
            self.invoice_details.extend(datasets.read_details(*arguments, self._details_known))
        else:
            self.billing_periods.extend(datasets.read_periods(*arguments))
        if self._other_dataset_rows > MAX_ROWS:
            raise FocusFileError(f"{header.name} has more than {MAX_ROWS:,} rows of {header.dataset}.")
        return self._other_dataset_rows - before

    @property
    def _other_dataset_rows(self) -> int:
        return len(self.commitments or ()) + len(self.invoice_details) + len(self.billing_periods)

    def _take_costs(
        self, batch: Mapping[int, pa.Array], opened: OpenFile
    ) -> tuple[int, list[tuple[date, pa.RecordBatch]]]:
        columns = Columns(batch, opened.header, self._findings, self._tags, opened.formats)
        periods = columns.periods()
        if self.only_month is not None:
            columns.check_month(periods, self.only_month)
        arrays = [columns.of(name, periods) for name in self.schema.names]
        parts = list(split_by_month(pa.record_batch(arrays, schema=self.schema), periods))
        for month, part in parts:
            self._month(month, opened.header).add(part)
        return len(periods), parts

    def _month(self, month: date, header: Header) -> MonthInFiles:
        if month not in self.months and len(self.months) >= MAX_MONTHS:
            raise FocusFileError(
                f"{header.name} has more than {MAX_MONTHS} billing months. Is {spec.BILLING_PERIOD} the right column?"
            )
        return self.months.setdefault(month, MonthInFiles())


def _file_report(reader: Reader, header: Header) -> FileReport:
    report = FileReport(
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
    if isinstance(reader, NativeReader):
        report.native_format, report.focus_version = reader.mapping.title, ""
        report.columns = len(reader.file.names)
    return report


def _enter_formats(report: FileReport, opened: OpenFile) -> None:
    formats = opened.formats
    if opened.has_text_numbers:
        report.number_format = NUMBERS_SHOWN[formats.numbers or NumberFormat.POINT]
        report.number_format_because = formats.numbers_because
    if formats.dates is not None:
        report.date_order = DATES_SHOWN[formats.dates]
        report.date_order_because = formats.dates_because


def month_report(month: date, in_files: MonthInFiles) -> MonthReport:
    """Return the report of one billing month."""
    totals = [
        Total(currency, sums.billed, sums.effective) for currency, sums in sorted(in_files.sums.items())
    ]
    return MonthReport(f"{month:%Y-%m}", in_files.rows, totals)
