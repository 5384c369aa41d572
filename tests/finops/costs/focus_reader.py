"""Steps of the tests that read FOCUS files without a lake."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.normalise import FocusFile, normalise
from finops.costs.focus.report import Finding, ImportReport
from finops.costs.focus.values import DateOrder, NumberFormat

ROW = {
    "BilledCost": "1.5",
    "EffectiveCost": "1.25",
    "ListCost": "2",
    "ContractedCost": "1.5",
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-05-01T00:00:00Z",
    "ChargePeriodStart": "2026-05-03T00:00:00Z",
    "ChargeCategory": "Usage",
    "ProviderName": "AWS",
    "ServiceName": "Amazon S3",
    "ServiceCategory": "Storage",
}


def as_csv(*rows: Mapping[str, str], delimiter: str = ",") -> bytes:
    """A file with these rows; each says only how it differs from ROW."""
    columns = list(dict.fromkeys([*ROW, *(name for row in rows for name in row)]))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**ROW, **row} for row in rows)
    return text.getvalue().encode()


def without_columns(data: bytes, *columns: str) -> bytes:
    """The file without these columns."""
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    text = io.StringIO()
    writer = csv.DictWriter(text, [name for name in rows[0] if name not in columns], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


class FocusRead:
    """What came out of a file: the rows as the lake gets them, and the report."""

    def __init__(
        self,
        *files: bytes,
        defaults: Mapping[str, str] | None = None,
        actor_tag_keys: Sequence[str] = ("owner",),
        numbers: NumberFormat | None = None,
        dates: DateOrder | None = None,
        names: Sequence[str] = (),
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"focus-{place}") for place in range(len(files))]
            for path, data in zip(paths, files, strict=True):
                path.write_bytes(data)
            bill = normalise(
                [
                    FocusFile(path, name)
                    for path, name in zip(paths, names or ["focus.csv"] * len(paths), strict=True)
                ],
                folder=Path(folder),
                source_id="7",
                defaults=defaults,
                actor_tag_keys=actor_tag_keys,
                choice=FormatChoice(numbers, dates),
            )
            self._batches = [batch for month in bill.months for batch in month.batches()]
            self.commitments = bill.commitments
            self.report: ImportReport = bill.report

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Dictionaries of all cells: of a long file, the most that a test does. `column` and `count` make none."""
        return [row for batch in self._batches for row in batch.to_pylist()]

    @property
    def count(self) -> int:
        return sum(batch.num_rows for batch in self._batches)

    @property
    def row(self) -> dict[str, Any]:
        (row,) = self.rows
        return row

    def column(self, name: str) -> list[Any]:
        return [
            value
            for batch in self._batches
            for value in (
                batch.column(name).to_pylist() if name in batch.schema.names else [None] * batch.num_rows
            )
        ]

    def finding(self, kind: str) -> Finding:
        return next(each for each in self.report.findings if each.kind == kind)

    @property
    def kinds(self) -> set[str]:
        return {each.kind for each in self.report.findings}
