"""Steps of the tests of column mappings: documents, and files read by them without a lake."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finops.costs.focus.normalise import FocusFile, normalise
from finops.costs.focus.report import ImportReport
from finops.costs.mapping.document import MappingDocument, document_of, problems
from finops.costs.mapping.preview import Preview, preview_of
from finops.costs.mapping.sample import sample_of
from finops.costs.mapping.suggestion import suggest

PLAIN: dict[str, Any] = {
    "amounts": {"BilledCost": {"column": "Amount"}},
    "dates": {"ChargePeriodStart": {"column": "Day"}},
    "texts": {
        "ServiceName": {"column": "Item"},
        "ProviderName": {"value": "Hetzner"},
        "BillingCurrency": {"value": "EUR"},
        "ChargeCategory": {"value": "Usage"},
    },
}
BILL = "Day,Item,Amount\n2026-05-03,Server,1.50\n2026-05-04,Disk,0.25\n"


def document(**changes: Any) -> MappingDocument:
    """PLAIN with these changes: its parts are merged, other fields are replaced."""
    merged = dict(PLAIN)
    for name, value in changes.items():
        merged[name] = {**PLAIN[name], **value} if name in PLAIN else value
    document = document_of(merged)
    assert problems(document) == []
    return document


@contextmanager
def file_of(data: str | bytes, name: str = "bill.csv") -> Iterator[FocusFile]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bill")
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        yield FocusFile(path, name)


class MappedRead:
    """The rows of a file as the lake gets them, and the report."""

    def __init__(self, data: str | bytes, mapping: MappingDocument | None = None) -> None:
        with file_of(data) as file, tempfile.TemporaryDirectory() as folder:
            bill = normalise([file], folder=Path(folder), source_id="7", mapping=mapping or document())
            self.rows: list[dict[str, Any]] = [
                row for month in bill.months for batch in month.batches() for row in batch.to_pylist()
            ]
            self.report: ImportReport = bill.report

    def column(self, name: str) -> list[Any]:
        return [row.get(name) for row in self.rows]


def preview_text(data: str | bytes, mapping: MappingDocument | None = None) -> Preview:
    with file_of(data) as file:
        return preview_of(file, mapping or document())


def suggestion(data: str | bytes, name: str = "Hetzner") -> MappingDocument:
    with file_of(data) as file:
        return suggest(sample_of(file), name=name)
