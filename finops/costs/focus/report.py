"""The report of an import, stored with it and shown to its owner: findings by kind, with the place of the first one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import display_value, printable

# Finding kind -> text of its line in the report. The kinds are stable; the texts are not.
FINDINGS: Final[dict[str, str]] = {
    "null_text": "NULL, a dash for a number, or blank text was read as empty.",
    "empty_expected": "FOCUS requires a value here; imported as empty.",
    "no_zone": "Times without a zone were read as UTC.",
    "us_date": "Dates like 4/1/25 were read as month/day/year, detected from the file.",
    "day_first_date": "Dates like 13/9/26 were read as day/month/year, detected from the file.",
    "charge_period_from_billing_period": (
        "ChargePeriodStart is empty; the first day of the billing period was used."
    ),
    "currency_sign": "A currency sign in an amount was removed; BillingCurrency has the currency.",
    "thousands_separator": "Thousands separators in an amount were removed.",
    "negative_in_parentheses": "An amount in parentheses was read as negative.",
    "spaces_around_amount": "Spaces around an amount were removed.",
    "rounded": "An amount with more than 18 decimals was rounded half to even.",
    "floating_point": "Floating-point amounts were read as the shortest equal decimal.",
    "quantity_too_large": "A quantity of 10^15 or more was left out; costs are complete.",
    "unreadable": "An unreadable value that affects no total or day was left out.",
    "odd_case": "A value of a fixed list was normalized.",
    "unknown_value": "A value not listed by FOCUS was kept.",
    "tags_unreadable": "Tags that are not a JSON object were left out.",
    "tag_key_trimmed": "Spaces around a tag key were removed.",
    "tag_key_collision": "Two tag keys are equal without spaces; the first with a value was kept.",
    "tag_key_repeated": "A line has a tag key twice; the first with a value was kept.",
    "tags_over_limit": "More tag keys than the lake keeps (1,000): the least used were left out.",
    "extension_left_out": "A duplicate x_ column, or one beyond 200, was left out.",
    "value_not_needed": "The default for a missing column was not used; the file has the column.",
}


class Finding(msgspec.Struct, omit_defaults=True):
    """One kind of finding: its rows, columns (with their cells), and the first example."""

    kind: str
    message: str
    rows: int = 0
    columns: dict[str, int] = {}
    first: str = ""


class FileReport(msgspec.Struct, omit_defaults=True):
    """The report of one file."""

    name: str
    format: str
    dataset: str
    focus_version: str = ""
    rows: int = 0
    bytes: int = 0
    columns: int = 0
    delimiter: str = ","
    number_format: str = ""
    """1,234.56 or 1.234,56; empty where numbers are stored as such."""
    number_format_because: str = ""
    """The first number that has no other reading, or who set the format; empty if no number has a comma."""
    date_order: str = ""
    """month/day/year or day/month/year; empty without such dates."""
    date_order_because: str = ""
    missing: list[str] = []
    """FOCUS columns that the file lacks and that stay empty."""
    supplied: dict[str, str] = {}
    """Columns that the file lacks, with the owner's value for every row."""
    extensions: list[str] = []
    """x_ columns."""
    stray: list[str] = []
    """Columns that FOCUS does not have."""
    native_format: str = ""
    """The native format of a file that is not FOCUS, such as AWS Cost and Usage Report (legacy CUR)."""
    notes: list[str] = []
    """What its native format does not contain, and how lines were converted that FOCUS represents differently."""


class Total(msgspec.Struct):
    """Sums of one currency, exact, as text."""

    currency: str
    billed_cost: Decimal
    effective_cost: Decimal


class MonthReport(msgspec.Struct, omit_defaults=True):
    """One billing month of the files. It replaces the source's month, or with `carried_by` adds corrections to it."""

    month: str
    rows: int
    totals: list[Total]
    carried_by: str = ""
    """The month that brought these lines as corrections, such as 2026-10; importing it again replaces them."""


class MonthChange(msgspec.Struct):
    """The source's sums of a billing month in one currency, before and after the import. Exact."""

    month: str
    currency: str
    rows_before: int
    rows_after: int
    billed_before: Decimal
    billed_after: Decimal
    effective_before: Decimal
    effective_after: Decimal


COLUMNS_REVIEW: Final = "columns"


class Review(msgspec.Struct, omit_defaults=True):
    """A reason for a person to review the import before it counts."""

    kind: str
    """columns: the files are read after a person maps them to FOCUS; change: sums change more than the account
    allows; partial: the files may have only a part of the month; copy: another source has the same file; moved: the
    source has changed since the decision."""
    reason: str
    month: str = ""
    action: str = "replace"
    """replace, or add (as corrections): the default for the month."""
    may_choose: bool = False
    """Whether the reviewer can choose between replacing and adding."""
    import_id: int = 0
    """The import that a copy is of."""


class ImportReport(msgspec.Struct, omit_defaults=True):
    """Everything about one import. JSON by `msgspec.to_builtins(report)`."""

    files: list[FileReport] = []
    rows: int = 0
    commitments: int = 0
    invoice_details: int = 0
    billing_periods: int = 0
    months: list[MonthReport] = []
    findings: list[Finding] = []
    tag_keys: dict[str, int] = {}
    """Tag keys by the rows that have them, most used first; at most 200 are listed."""
    tag_keys_dropped: list[str] = []
    changes: list[MonthChange] = []
    """Changes of each month that the import touches, by currency."""
    reviews: list[Review] = []
    notes: list[str] = []
    """Notes for the owner on what was replaced, in sentences."""


class Findings:
    """Collects findings over all batches of all files. In a batch, rows with several cells of a kind count once."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}
        self._rows: dict[str, Any] = {}
        self._where: Callable[[int], str] = str

    def begin_batch(self, where: Callable[[int], str]) -> None:
        """Start a batch. `where(index)` names a row of it, for the first example of a kind."""
        self._where = where

    def end_batch(self) -> None:
        for kind, mask in self._rows.items():
            self._found[kind].rows += pc.sum(mask).as_py() or 0
        self._rows.clear()

    def cells(self, kind: str, column: str, mask: pa.Array, values: pa.Array | None = None) -> None:
        """Count the true places of `mask` as cells of this kind; `values` provide the example."""
        mask = pc.fill_null(mask, False)
        count = pc.sum(mask).as_py() or 0
        if not count:
            return
        finding = self._finding(kind)
        finding.columns[column] = finding.columns.get(column, 0) + count
        if not finding.first:
            finding.first = self._example(column, pc.index(mask, True).as_py(), values)
        self._rows[kind] = pc.or_(self._rows[kind], mask) if kind in self._rows else mask

    def note(self, kind: str, column: str, *, rows: int = 0, first: str = "") -> None:
        """Count a finding about a whole file or column, outside of batches."""
        finding = self._finding(kind)
        finding.rows += rows
        finding.columns[printable(column)] = finding.columns.get(printable(column), 0) + rows
        finding.first = finding.first or first

    def add(self, other: Findings) -> None:
        """Add the findings of `other`, counted in the same rows or in others: rows are added."""
        self.add_all(other.all())

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Add these findings, as `add`."""
        for each in findings:
            finding = self._finding(each.kind)
            finding.rows += each.rows
            for column, cells in each.columns.items():
                finding.columns[column] = finding.columns.get(column, 0) + cells
            finding.first = finding.first or each.first

    def all(self) -> list[Finding]:
        """Return the findings in the order of report.FINDINGS."""
        return [self._found[kind] for kind in FINDINGS if kind in self._found]

    def _finding(self, kind: str) -> Finding:
        if kind not in self._found:
            self._found[kind] = Finding(kind=kind, message=FINDINGS[kind], columns={})
        return self._found[kind]

    def _example(self, column: str, index: int, values: pa.Array | None) -> str:
        place = f"{self._where(index)}, {column}"
        return place if values is None else f"{place}: {display_value(values[index].as_py())}"


def merge_findings(parts: Iterable[Iterable[Finding]]) -> list[Finding]:
    """Return the findings of an import from those of its parts, of different rows; `parts` in order of files."""
    merged = Findings()
    for part in parts:
        merged.add_all(part)
    return merged.all()


def over_limit_finding(rows: int, keys: int) -> Finding:
    """Return the finding that `keys` tag keys, used in `rows` rows, do not become columns."""
    kind = "tags_over_limit"
    return Finding(kind=kind, message=FINDINGS[kind], rows=rows, columns={"Tags": rows}, first=f"{keys} keys")
