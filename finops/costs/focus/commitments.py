"""Rows of FOCUS's Contract Commitment dataset. It is small (one row a commitment), so it is read row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from finops.costs.focus import columns as spec
from finops.costs.focus import convert
from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings
from finops.costs.focus.formats import Formats
from finops.costs.focus.header import Header

MAX_ROWS: Final = 1_000_000


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
    found: dict[str, list[Any]] = {}
    for field, column in spec.COMMITMENT_TEXTS.items():
        if column in header.position:
            texts = convert.text(batch[header.position[column]], column, findings)
            found[field] = [value or "" for value in texts.to_pylist()]
    for field, column in spec.COMMITMENT_AMOUNTS.items():
        if column in header.position:
            amounts = convert.amount(batch[header.position[column]], column, findings, formats)
            found[field] = amounts.to_pylist()
    for field, column in spec.COMMITMENT_TIMES.items():
        if column in header.position:
            found[field] = _times(batch[header.position[column]], column, findings, formats)
    for place, values in enumerate(zip(*found.values(), strict=True)):
        row = dict(zip(found, values, strict=True))
        _refuse_incomplete(row, place)
        yield Commitment(**row)


def _refuse_incomplete(row: Mapping[str, Any], place: int) -> None:
    for field in ("commitment_id", "period_start", "period_end"):
        if not row[field]:
            column = spec.COMMITMENT_TEXTS.get(field) or spec.COMMITMENT_TIMES[field]
            raise BadCell(column, place, None, "is empty, and every commitment has one")


def _times(values: pa.Array, column: str, findings: Findings, formats: Formats) -> list[datetime | None]:
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        return [
            None if value is None else _utc(value) for value in values.cast(pa.timestamp("us")).to_pylist()
        ]
    texts = convert.text(values, column, findings)
    findings_of = convert.day(texts, column, findings, formats)
    return [
        None if value is None else _moment(value, day)
        for value, day in zip(texts.to_pylist(), findings_of.to_pylist(), strict=True)
    ]


def _moment(value: str, day: Any) -> datetime:
    """The full time where the text has one; convert.day has refused what is no time."""
    try:
        return _utc(datetime.fromisoformat(value.strip()))
    except ValueError:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
