"""The datasets of FOCUS beside Cost and Usage: their columns, and their rows as plain values.

They are small (a row a commitment, an invoice's detail, a billing period), so they are read row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from finops.costs.focus import amounts, convert
from finops.costs.focus import columns as spec
from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings
from finops.costs.focus.formats import Formats
from finops.costs.focus.header import Header
from finops.costs.focus.jsontext import is_nested, json_text

MAX_ROWS: Final = 1_000_000

LONGEST: Final = 500
"""Characters of an identifier or name; a description may have any number."""


@dataclass(frozen=True)
class Dataset:
    """Which FOCUS columns fill which field of a row, and what a row is called in messages."""

    noun: str
    columns: spec.DatasetColumns


CONTRACT_COMMITMENTS: Final = Dataset("commitment", spec.DATASETS[spec.CONTRACT_COMMITMENT])
INVOICE_DETAILS: Final = Dataset("invoice detail", spec.DATASETS[spec.INVOICE_DETAIL])
BILLING_PERIODS: Final = Dataset("billing period", spec.DATASETS[spec.BILLING_PERIODS])


def read_rows(
    dataset: Dataset,
    batch: Mapping[int, pa.Array],
    header: Header,
    findings: Findings,
    formats: Formats,
) -> Iterator[dict[str, Any]]:
    """The rows of a batch by field; only fields whose column the file has. BadCell for a value that is none, or is
    missing where every row has one. Empty texts are "", times UTC."""
    columns, place_of = dataset.columns, header.position
    values_by_field: dict[str, Sequence[Any]] = {}
    for field, column in _present(columns.texts, header):
        values_by_field[field] = _texts(batch[place_of[column]], column, findings)
    for field, column in _present(columns.amounts, header):
        values_by_field[field] = amounts.amount(
            batch[place_of[column]], column, findings, formats
        ).to_pylist()
    for field, column in _present(columns.times, header):
        values_by_field[field] = _times(batch[place_of[column]], column, findings, formats)
    for field, column in _present(columns.periods, header):
        values_by_field[field] = convert.period(
            batch[place_of[column]], column, Findings(), formats
        ).to_pylist()
    for place, values in enumerate(zip(*values_by_field.values(), strict=True)):
        row = dict(zip(values_by_field, values, strict=True))
        _refuse_incomplete(dataset, row, place)
        yield row


def _present(columns: Mapping[str, str], header: Header) -> list[tuple[str, str]]:
    return [(field, column) for field, column in columns.items() if column in header.position]


def _refuse_incomplete(dataset: Dataset, row: Mapping[str, Any], place: int) -> None:
    for field in dataset.columns.never_null:
        if row[field] in ("", None):
            column = dataset.columns.column_of(field)
            raise BadCell(column, place, None, f"is empty, and every {dataset.noun} has one")


def _texts(values: pa.Array, column: str, findings: Findings) -> list[str]:
    if is_nested(values.type):
        values = json_text(values)
    encoded = convert.text(values, column, findings)
    if column == spec.CURRENCY:
        encoded = convert.currency(encoded, column, findings)
    texts = [value or "" for value in encoded.to_pylist()]
    for place, value in enumerate(texts):
        if "\x00" in value:
            raise BadCell(column, place, value, "has a character that no text may have")
        if len(value) > LONGEST and column not in spec.LONG_TEXTS:
            raise BadCell(column, place, value, f"is longer than {LONGEST} characters")
    return texts


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
