"""The vendors' invoices as FOCUS 1.4 Invoice Detail files: what each charge category of a month was invoiced at.

Google Cloud, Anthropic and DigitalOcean invoice what the lines add up to; AWS and Microsoft whole cents; and in even
months AWS invoices a purchase that its cost export leaves out.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from finops.demo.company import Source, invoice_id
from finops.lib.money import exact_sum
from finops.lib.periods import add_months

NOT_IN_LINES = Decimal("412.50")
_IN_CENTS = ("aws", "azure")


@dataclass(frozen=True)
class Detail:
    """One detail of an invoice."""

    charge_category: str
    description: str
    amount: Decimal


def details_of(vendor: Source, month: date, billed: Mapping[str, Decimal]) -> list[Detail]:
    """What a month's invoice says, of what its lines add up to by charge category."""
    amounts = dict(billed)
    if vendor.key in _IN_CENTS:
        amounts = {name: round(amount, 2) for name, amount in billed.items()}
        # The invoice is within a cent of its lines: usage takes the rounding of the others.
        amounts["Usage"] += round(exact_sum(billed.values()), 2) - exact_sum(amounts.values())
    details = [Detail(name, f"{vendor.name} {name.lower()}", amounts[name]) for name in sorted(amounts)]
    if vendor.key == "aws" and month.month % 2 == 0:
        details.append(Detail("Purchase", "AWS Marketplace: load testing, one month", NOT_IN_LINES))
    return details


def _rows(vendor: Source, month: date, details: Sequence[Detail]) -> Iterator[dict[str, str]]:
    issued = add_months(month, 1) + timedelta(days=2)
    for number, detail in enumerate(details, start=1):
        yield {
            "InvoiceId": invoice_id(vendor, month),
            "InvoiceDetailId": str(number),
            "InvoiceIssuerName": vendor.publisher,
            "BillingAccountId": vendor.billing_account_id,
            "BillingCurrency": vendor.currency,
            "BillingPeriodStart": f"{month}T00:00:00Z",
            "BillingPeriodEnd": f"{add_months(month, 1)}T00:00:00Z",
            "BilledCost": f"{detail.amount:f}",
            "ChargeCategory": detail.charge_category,
            "InvoiceDetailDescription": detail.description,
            "InvoiceDetailGrain": json.dumps({"ChargeCategory": detail.charge_category}),
            "InvoiceIssueStatus": "Issued",
            "InvoiceIssueDate": f"{issued}T00:00:00Z",
            "PaymentDueDate": f"{issued + timedelta(days=30)}T00:00:00Z",
            "PaymentTerms": "Net 30",
        }


def write_invoices(
    vendor: Source, path: Path, billed: Mapping[date, Mapping[str, Decimal]], end: date
) -> bool:
    """Write the invoices of the billing months that are over by `end`. False, and no file, when none is."""
    rows = [
        row
        for month, sums in billed.items()
        if add_months(month, 1) - timedelta(days=1) <= end
        for row in _rows(vendor, month, details_of(vendor, month, sums))
    ]
    if not rows:
        return False
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return True
