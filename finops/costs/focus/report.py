"""What an import found and did, kept with the import and shown to its owner: counted by kind, with
where the first one is."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import display_value, printable

# Finding kind -> what its line of the report says. The kinds are stable; the wording is not.
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
    """One kind of untidiness: in how many rows, which columns (with their cells), and the first example."""

    kind: str
    message: str
    rows: int = 0
    columns: dict[str, int] = {}
    first: str = ""


class FileReport(msgspec.Struct, omit_defaults=True):
    """One file as it was read."""

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
    """The first number that has no other reading, or who set it; empty when no number has a comma."""
    date_order: str = ""
    """month/day/year or day/month/year; empty without such dates."""
    date_order_because: str = ""
    missing: list[str] = []
    """FOCUS columns that the file lacks and that stayed empty."""
    supplied: dict[str, str] = {}
    """Columns that the file lacks, with the value its owner gave for every row."""
    extensions: list[str] = []
    """x_ columns."""
    stray: list[str] = []
    """Columns that FOCUS does not know."""
    native_format: str = ""
    """What the file is when it is no FOCUS, such as AWS Cost and Usage Report (legacy CUR)."""
    notes: list[str] = []
    """What its native format cannot tell, and what was done with lines that FOCUS has in another way."""


class Total(msgspec.Struct):
    """Sums of one currency, exact, as text."""

    currency: str
    billed_cost: Decimal
    effective_cost: Decimal


class MonthReport(msgspec.Struct, omit_defaults=True):
    """One billing month of the files. It replaces the source's, or with `carried_by` adds corrections to it."""

    month: str
    rows: int
    totals: list[Total]
    carried_by: str = ""
    """The month that brought these lines as corrections, such as 2026-10; they are replaced when it is."""


class MonthChange(msgspec.Struct):
    """What the source has of a billing month in one currency, before the import and with it. Exact."""

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
    """Why a person should look before the import counts."""

    kind: str
    """columns: the files are read once a person has mapped them to FOCUS; change: sums move further than the account lets pass; partial: the files may hold a part of the month only;
    copy: another source has the same file; moved: the source has changed since somebody decided."""
    reason: str
    month: str = ""
    action: str = "replace"
    """replace, or add (as corrections): what happens to the month unless somebody decides otherwise."""
    may_choose: bool = False
    """Whether the month can be replaced or added to."""
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
    """Of each month that the import touches, by currency."""
    reviews: list[Review] = []
    notes: list[str] = []
    """What its owner should know about what was replaced, in sentences."""


class Findings:
    """Collects over all batches of all files. Within a batch, rows with several cells of a kind count once."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}
        self._rows: dict[str, Any] = {}
        self._where: Callable[[int], str] = str

    def begin_batch(self, where: Callable[[int], str]) -> None:
        """`where(index)` names a row of the batch that begins, for the first example of a kind."""
        self._where = where

    def end_batch(self) -> None:
        for kind, mask in self._rows.items():
            self._found[kind].rows += pc.sum(mask).as_py() or 0
        self._rows.clear()

    def cells(self, kind: str, column: str, mask: pa.Array, values: pa.Array | None = None) -> None:
        """The true places of `mask` are cells of this kind; `values` gives the example."""
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
        """A finding about a whole file or column, counted outside of batches."""
        finding = self._finding(kind)
        finding.rows += rows
        finding.columns[printable(column)] = finding.columns.get(printable(column), 0) + rows
        finding.first = finding.first or first

    def add(self, other: Findings) -> None:
        """The findings of `other`, which were counted in the same rows or in others: rows are added."""
        for each in other.all():
            finding = self._finding(each.kind)
            finding.rows += each.rows
            for column, cells in each.columns.items():
                finding.columns[column] = finding.columns.get(column, 0) + cells
            finding.first = finding.first or each.first

    def all(self) -> list[Finding]:
        """In the order of report.FINDINGS."""
        return [self._found[kind] for kind in FINDINGS if kind in self._found]

    def _finding(self, kind: str) -> Finding:
        if kind not in self._found:
            self._found[kind] = Finding(kind=kind, message=FINDINGS[kind], columns={})
        return self._found[kind]

    def _example(self, column: str, index: int, values: pa.Array | None) -> str:
        place = f"{self._where(index)}, {column}"
        return place if values is None else f"{place}: {display_value(values[index].as_py())}"


def over_limit_finding(rows: int, keys: int) -> Finding:
    """That `keys` tag keys, which `rows` rows have, become no columns."""
    kind = "tags_over_limit"
    return Finding(kind=kind, message=FINDINGS[kind], rows=rows, columns={"Tags": rows}, first=f"{keys} keys")
