"""The query about invoices and its answer, for the page Invoices and the tool getInvoiceReconciliation."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.lib.answers import AccountAnswer

Status = Literal["matches", "rounding", "differs", "no_lines", "no_invoice_detail", "not_invoiced"]


class InvoiceQuery(msgspec.Struct, frozen=True, kw_only=True):
    month: Annotated[str, Meta(description="Billing month, such as 2026-05. Default: the newest 3.")] = ""
    invoice: Annotated[str, Meta(description="InvoiceId; returns its parts.")] = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class InvoicePart(msgspec.Struct, frozen=True, kw_only=True):
    """Of the asked invoice: a detail or charge category."""

    part: str
    description: str
    lines_amount: Decimal | None
    invoiced_amount: Decimal | None
    difference: Decimal
    currency: str


class InvoiceLines(msgspec.Struct, frozen=True, kw_only=True):
    charge_category: str
    service: str
    lines_amount: Decimal
    currency: str


class InvoiceRow(msgspec.Struct, frozen=True, kw_only=True):
    """difference: invoiced less lines. An empty invoice: lines that name none."""

    billing_period: date
    issuer: str
    invoice: str
    billing_account: str
    status: Status
    lines_amount: Decimal | None
    invoiced_amount: Decimal | None
    difference: Decimal | None
    currency: str
    reason: str
    invoiced_by: Literal["invoice_detail", "entered", ""]
    invoice_status: str
    period_status: str
    not_final: str
    due_on: date | None = None
    note: str = ""
    parts_by: Literal["invoice_detail", "charge_category", ""] = ""
    parts: list[InvoicePart] = []
    lines: list[InvoiceLines] = []


class InvoiceSum(msgspec.Struct, frozen=True, kw_only=True):
    """lines_amount is compared_amount (of invoices whose amount is known) and uncompared_amount."""

    lines_amount: Decimal
    compared_amount: Decimal
    uncompared_amount: Decimal
    invoiced_amount: Decimal | None
    difference: Decimal | None
    currency: str


class InvoiceAnswer(AccountAnswer, frozen=True, kw_only=True):
    months: list[str]
    totals: list[InvoiceSum]
    invoices: list[InvoiceRow]
    truncated: str = ""
    warnings: list[str] = []
    hint: str = ""
    console_url: str = ""
