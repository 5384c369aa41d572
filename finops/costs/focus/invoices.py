"""Rows of FOCUS's Invoice Detail and Billing Period datasets (1.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal

import msgspec
import pyarrow as pa

from finops.costs.focus.datasets import BILLING_PERIODS, INVOICE_DETAILS, read_rows
from finops.costs.focus.errors import BadCell
from finops.costs.focus.findings import Findings
from finops.costs.focus.formats import Formats
from finops.costs.focus.header import Header

DetailKey = tuple[str, str, str]


class InvoiceDetailRow(msgspec.Struct, frozen=True, kw_only=True):
    """One detail of an invoice: an amount in the billing currency, and what for. Times are UTC.

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
    """Whether an issuer says that a billing period is open or closed, and since when it says so. Times are UTC."""

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
    """The details of a batch. BadCell for a missing issuer, invoice, period, currency or amount, a value that is none,
    or a detail that is among `known` already, which all of the batch join: its amount would count twice."""
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
    """The billing periods of a batch. BadCell for a missing issuer, start or status, or a value that is none."""
    for row in read_rows(BILLING_PERIODS, batch, header, findings, formats):
        yield BillingPeriodRow(**row)
