"""The CSV of changed lines, of the page of bill versions and of the tool compareBillVersions."""

from __future__ import annotations

from typing import Final

from finops.costs.queries.bill_versions import BillVersionsAnswer
from finops.lib.listing import CsvTable

MOST_LINES: Final = 10_000
LINE_FIELDS: Final = (
    *("status", "charge_date", "service", "account", "usage_type", "resource", "charge_category", "currency"),
    *("lines_before", "lines_after", "billed_before", "billed_after", "amortized_before", "amortized_after"),
)


def bill_versions_csv(answer: BillVersionsAnswer) -> CsvTable:
    """Return the CSV of the lines of an answer, exact figures."""
    header = [name.replace("_", " ") for name in LINE_FIELDS]
    rows = ([getattr(line, name) for name in LINE_FIELDS] for line in answer.lines)
    name, note_after = f"bill-versions-{answer.month}", header[-1]
    return CsvTable(name, header, rows, note=answer.summary, note_after=note_after)
