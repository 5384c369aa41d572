"""Rows of FOCUS's Contract Commitment dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal

import msgspec
import pyarrow as pa

from finops.costs.focus.datasets import CONTRACT_COMMITMENTS, read_rows
from finops.costs.focus.findings import Findings
from finops.costs.focus.formats import Formats
from finops.costs.focus.header import Header


class Commitment(msgspec.Struct, frozen=True):
    """One contract commitment: what was promised, over which time. Times are UTC."""

    commitment_id: str
    period_start: datetime
    period_end: datetime
    commitment_type: str = ""
    category: str = ""
    description: str = ""
    unit: str = ""
    contract_id: str = ""
    currency: str = ""
    cost: Decimal | None = None
    quantity: Decimal | None = None
    contract_start: datetime | None = None
    contract_end: datetime | None = None


def read_batch(
    batch: Mapping[int, pa.Array], header: Header, findings: Findings, formats: Formats
) -> Iterator[Commitment]:
    """The commitments of a batch. BadCell for a missing id or period, or a value that is none."""
    for row in read_rows(CONTRACT_COMMITMENTS, batch, header, findings, formats):
        yield Commitment(**row)
