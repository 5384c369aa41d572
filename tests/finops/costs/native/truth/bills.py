"""A bill of a native format, and what a line of it comes to in FOCUS by hand."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq

ATTOS: Final = Decimal(1).scaleb(-18)
DIMENSIONS: Final = ("service", "account_id", "region", "charge_category", "month", "currency")
Row = Mapping[str, Any]


class Part(NamedTuple):
    """What a raw line adds to the sums. A line may have several."""

    billed: Decimal
    effective: Decimal
    service: str | None
    account_id: str | None
    region: str | None
    charge_category: str
    month: str
    currency: str


@dataclass(frozen=True)
class Bill:
    """Files of one import, and the parts of their raw rows."""

    files: Sequence[bytes]
    parts: Callable[[Sequence[bytes]], Iterable[Part]]
    names: Sequence[str] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)

    def sums(self, dimension: str) -> dict[object, tuple[Decimal, Decimal]]:
        """Billed and effective cost by a dimension."""
        sums: dict[object, list[Decimal]] = defaultdict(lambda: [Decimal(0), Decimal(0)])
        for part in self.parts(self.files):
            total = sums[getattr(part, dimension)]
            total[0] += part.billed
            total[1] += part.effective
        return {key: (billed, effective) for key, (billed, effective) in sums.items() if billed or effective}


def csv_rows(data: bytes) -> Iterator[Row]:
    yield from csv.DictReader(io.StringIO(data.decode("utf-8-sig")))


def parquet_rows(data: bytes) -> Iterator[Row]:
    yield from pq.read_table(io.BytesIO(data)).to_pylist()


def number(value: object) -> Decimal:
    """A number of a raw row at the 18 places that the lake keeps; 0 where there is none."""
    if value in (None, ""):
        return Decimal(0)
    return Decimal(repr(value) if isinstance(value, float) else str(value)).quantize(ATTOS)


def write_csv(rows: Sequence[Row], header: Sequence[str] = ()) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(header or rows[0]), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
