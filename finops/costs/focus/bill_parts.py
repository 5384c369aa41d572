"""A bill of many files that is read in parts: the content of each part, and all parts together as one bill. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

import msgspec

from finops.costs.focus import columns as spec
from finops.costs.focus.datasets import BillingPeriodRow, Commitment, InvoiceDetailRow
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.header import check_defaults, optional_columns
from finops.costs.focus.months import NOTHING, MonthInFiles, Sums
from finops.costs.focus.normalise import LISTED_KEYS, MAX_MONTHS, NormalisedBill, month_report
from finops.costs.focus.open_files import FocusFile, open_files
from finops.costs.focus.report import FileReport, Finding, ImportReport, merge_findings
from finops.costs.mapping.document import MappingDocument
from finops.costs.native.native_reader import NativeReader, facts_of
from finops.lake.schema import MAX_KEYS


class PartMonth(msgspec.Struct, frozen=True):
    """`MonthInFiles` of one part."""

    month: date
    sums: dict[str, Sums]
    corrections: int
    days: list[date]
    providers: list[str]


class BillPart(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the files of one part."""

    files: list[FileReport]
    findings: list[Finding]
    months: list[PartMonth]
    tag_rows: list[tuple[str, int]]
    """Every tag key with its rows, in the order of the first; empty with `too_many_keys`."""
    too_many_keys: bool = False
    """Whether the part alone has more keys than an import keeps. The kept keys are then known only after the last
    file."""
    summary: bytes | None = b""
    """`NativeFormat.summary`; None if it is too large."""

    @property
    def needs_one_piece(self) -> bool:
        """Whether the import must be read in one piece."""
        return self.too_many_keys or self.summary is None

    @property
    def rows(self) -> int:
        return sum(sums.rows for month in self.months for sums in month.sums.values())


class SharedFacts(NamedTuple):
    """The data about all files of an import that each of its parts needs."""

    optional: tuple[str, ...]
    """The optional columns of all files."""
    decisions: Sequence[str] = ()
    """`NativeFormat.decisions`."""
    last_needs_others: bool = False
    """`NativeFormat.last_needs_others`."""


def shared_facts(
    files: Sequence[FocusFile],
    defaults: Mapping[str, str],
    choice: FormatChoice,
    mapping: MappingDocument | None,
) -> SharedFacts | None:
    """Return the facts for files that can be read in parts; None for files that cannot. Opens each file. Raises
    FocusFileError as `normalise`."""
    opened = open_files(files, check_defaults(defaults), choice, mapping)
    if any(open_file.header.dataset != spec.COST_AND_USAGE for open_file in opened):
        return None
    optional = optional_columns(open_file.header for open_file in opened)
    native = [open_file.reader for open_file in opened if isinstance(open_file.reader, NativeReader)]
    if not native:
        return SharedFacts(optional)
    facts = facts_of(native) if len(native) == len(opened) else None
    return None if facts is None else SharedFacts(optional, *facts)


def bill_part(bill: NormalisedBill) -> BillPart:
    """Return the content of the files, after the batches of every month were consumed."""
    keys = list(bill.tag_rows.items())
    report = bill.report
    return BillPart(
        files=report.files,
        findings=report.findings,
        months=[
            PartMonth(month, each.sums, each.corrections, sorted(each.days), sorted(each.providers))
            for month, each in sorted(bill.file_months.items())
        ],
        tag_rows=keys if len(keys) <= MAX_KEYS else [],
        too_many_keys=len(keys) > MAX_KEYS,
        summary=bill.summary,
    )


class BillOfParts:
    """All parts as one bill, in the form of `NormalisedBill`. Raises FocusFileError for more billing months than a
    bill may have."""

    commitments: list[Commitment] | None = None
    invoice_details: Sequence[InvoiceDetailRow] = ()
    billing_periods: Sequence[BillingPeriodRow] = ()

    def __init__(self, parts: Sequence[BillPart]) -> None:
        self._parts = parts
        self.file_months = _months(parts)
        self._tag_rows: Counter[str] = Counter()
        for part in parts:
            for key, rows in part.tag_rows:
                self._tag_rows[key] += rows

    @property
    def has_too_many_keys(self) -> bool:
        """Whether an import of all files in one piece would leave out tag keys."""
        return len(self._tag_rows) > MAX_KEYS

    @property
    def report(self) -> ImportReport:
        return ImportReport(
            files=[file for part in self._parts for file in part.files],
            rows=sum(part.rows for part in self._parts),
            months=[month_report(month, self.file_months[month]) for month in sorted(self.file_months)],
            findings=merge_findings(part.findings for part in self._parts),
            tag_keys=dict(self._tag_rows.most_common(LISTED_KEYS)),
        )


def _months(parts: Sequence[BillPart]) -> dict[date, MonthInFiles]:
    months: dict[date, MonthInFiles] = {}
    for part in parts:
        for each in part.months:
            month = months.setdefault(each.month, MonthInFiles())
            for currency, sums in each.sums.items():
                month.sums[currency] = month.sums.get(currency, NOTHING).plus(sums)
            month.corrections += each.corrections
            month.days.update(each.days)
            month.providers.update(each.providers)
    if len(months) > MAX_MONTHS:
        raise FocusFileError(
            f"The files have more than {MAX_MONTHS} billing months. Is {spec.BILLING_PERIOD} the right column?"
        )
    return months
