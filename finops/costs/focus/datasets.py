"""The datasets of FOCUS other than Cost and Usage: Contract Commitment, and of 1.4 Invoice Detail and Billing Period.

They are small (a row per commitment, invoice detail or billing period), so they are read row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from finops.costs.focus import amounts, convert
from finops.costs.focus import columns as spec
from finops.costs.focus.errors import BadCell
from finops.costs.focus.formats import Formats
from finops.costs.focus.header import Header
from finops.costs.focus.jsontext import is_nested, json_text
from finops.costs.focus.report import Findings

MAX_ROWS: Final = 1_000_000

LONGEST: Final = 500
"""The maximum of characters of an identifier or name; descriptions have no limit."""


@dataclass(frozen=True)
class Dataset:
    """The FOCUS column of each field of a row, and the name of a row in messages."""

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
    """Return the rows of a batch by field, only for columns that the file has. BadCell for an invalid value, or one
    missing where it is mandatory. Empty texts are "", times UTC."""
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
            raise BadCell(column, place, None, f"is empty, but required for each {dataset.noun}")


def _texts(values: pa.Array, column: str, findings: Findings) -> list[str]:
    if is_nested(values.type):
        values = json_text(values)
    encoded = convert.text(values, column, findings)
    if column == spec.CURRENCY:
        encoded = convert.currency(encoded, column, findings)
    texts = [value or "" for value in encoded.to_pylist()]
    for place, value in enumerate(texts):
        if "\x00" in value:
            raise BadCell(column, place, value, "has an invalid character")
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
    """Return the full time if the text has one; convert.day has already refused invalid times."""
    try:
        return _utc(datetime.fromisoformat(value.strip()))
    except ValueError:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Commitment(msgspec.Struct, frozen=True):
    """One contract commitment: its amount and period. Times are UTC."""

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


def read_commitments(
    batch: Mapping[int, pa.Array], header: Header, findings: Findings, formats: Formats
) -> Iterator[Commitment]:
    """Return the commitments of a batch. BadCell for a missing id or period, or an invalid value."""
    for row in read_rows(CONTRACT_COMMITMENTS, batch, header, findings, formats):
        yield Commitment(**row)


DetailKey = tuple[str, str, str]


class InvoiceDetailRow(msgspec.Struct, frozen=True, kw_only=True):
    """One detail of an invoice: its amount in the billing currency, and its subject. Times are UTC.

    `billing_period` is the first day of the period, in the month that the row names.
    """

    issuer: str
    invoice_id: str
    billing_period: date
    currency: str
    billed_cost: Decimal
    period_start: datetime
    period_end: datetime | None = None
    detail_id: str = ""
    billing_account_id: str = ""
    charge_category: str = ""
    description: str = ""
    grain: str = ""
    status: str = ""
    payment_terms: str = ""
    purchase_order: str = ""
    reference_invoice_id: str = ""
    payment_currency: str = ""
    payment_cost: Decimal | None = None
    issued_at: datetime | None = None
    due_at: datetime | None = None

    @property
    def key(self) -> DetailKey:
        return self.issuer, self.invoice_id, self.detail_id


class BillingPeriodRow(msgspec.Struct, frozen=True, kw_only=True):
    """The status of an issuer's billing period, open or closed, and its last update. Times are UTC."""

    issuer: str
    billing_period: date
    status: str
    period_start: datetime
    period_end: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


def read_details(
    batch: Mapping[int, pa.Array],
    header: Header,
    findings: Findings,
    formats: Formats,
    detail_keys: set[DetailKey],
) -> Iterator[InvoiceDetailRow]:
    """Return the details of a batch. BadCell for a missing issuer, invoice, period, currency or amount, an invalid
    value, or a detail that is already in `detail_keys`, to which the batch is added: its amount would count twice."""
    for place, row in enumerate(read_rows(INVOICE_DETAILS, batch, header, findings, formats)):
        detail = InvoiceDetailRow(**row)
        if detail.detail_id:
            if detail.key in detail_keys:
                column = INVOICE_DETAILS.columns.texts["detail_id"]
                raise BadCell(column, place, detail.detail_id, "is in this import twice for one invoice")
            detail_keys.add(detail.key)
        yield detail


def read_periods(
    batch: Mapping[int, pa.Array], header: Header, findings: Findings, formats: Formats
) -> Iterator[BillingPeriodRow]:
    """Return the billing periods of a batch. BadCell for a missing issuer, start or status, or an invalid value."""
    for row in read_rows(BILLING_PERIODS, batch, header, findings, formats):
        yield BillingPeriodRow(**row)
