"""Files of further FOCUS datasets that vendors deliver with their bills.

Contract Commitment (1.3): committed amounts and terms. Invoice Detail (1.4): the invoiced amount of each charge category of a
month. Google Cloud, Anthropic and DigitalOcean invoice the exact sum of the lines; AWS and Microsoft whole cents; and in even
months AWS invoices a purchase that its cost export leaves out.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from finops.demo.catalog import COST_SCALE, QUANTITY_SCALE
from finops.demo.commitments import COMMITMENTS, CommitmentYear, daily_worth, term_of
from finops.demo.company import VENDORS, Source, invoice_id
from finops.lib.money import exact_sum
from finops.lib.periods import add_months

NOT_IN_LINES = Decimal("412.50")
_IN_CENTS = ("aws", "azure")


def write_contracts(source: str, path: Path, start: date, end: date) -> bool:
    """Write a vendor's terms that overlap the days from start to end. Returns False, without a file, when it has none."""
    terms: dict[CommitmentYear, None] = {}
    for commitment in COMMITMENTS:
        renewals = [date(year, commitment.month, commitment.day) for year in range(start.year, end.year + 1)]
        if commitment.source == source:
            terms |= {term_of(commitment, day): None for day in (start, *renewals) if start <= day <= end}
    return _write(path, [_contract_row(term) for term in terms])


def _contract_row(term: CommitmentYear) -> dict[str, str]:
    commitment, vendor = term.commitment, VENDORS[term.commitment.source]
    spend = commitment.category == "Spend"
    start, end = f"{term.start}T00:00:00Z", f"{term.end}T00:00:00Z"
    hours = Decimal(term.daily_hours * term.days).scaleb(-QUANTITY_SCALE) if not spend else None
    return {
        "ContractCommitmentId": term.id,
        "ContractCommitmentType": commitment.type,
        "ContractCommitmentCategory": commitment.category,
        "ContractCommitmentCost": str(Decimal(daily_worth(term) * term.days).scaleb(-COST_SCALE)),
        "ContractCommitmentQuantity": "" if hours is None else str(hours),
        "ContractCommitmentUnit": "" if spend else commitment.unit,
        "ContractCommitmentDescription": commitment.name,
        "ContractCommitmentPeriodStart": start,
        "ContractCommitmentPeriodEnd": end,
        "ContractId": f"{vendor.billing_account_id}/{commitment.key}",
        "ContractPeriodStart": start,
        "ContractPeriodEnd": end,
        "BillingCurrency": vendor.currency,
    }


def write_invoices(
    vendor: Source, path: Path, billed: Mapping[date, Mapping[str, Decimal]], end: date
) -> bool:
    """Write the invoices of the billing months that are over by `end`. Returns False, without a file, when none is."""
    rows = [
        row
        for month, sums in billed.items()
        if add_months(month, 1) - timedelta(days=1) <= end
        for row in _invoice_rows(vendor, month, sums)
    ]
    return _write(path, rows)


def _invoice_rows(vendor: Source, month: date, billed: Mapping[str, Decimal]) -> Iterator[dict[str, str]]:
    issued = add_months(month, 1) + timedelta(days=2)
    for number, (category, description, amount) in enumerate(_details(vendor, month, billed), start=1):
        yield {
            "InvoiceId": invoice_id(vendor, month),
            "InvoiceDetailId": str(number),
            "InvoiceIssuerName": vendor.publisher,
            "BillingAccountId": vendor.billing_account_id,
            "BillingCurrency": vendor.currency,
            "BillingPeriodStart": f"{month}T00:00:00Z",
            "BillingPeriodEnd": f"{add_months(month, 1)}T00:00:00Z",
            "BilledCost": f"{amount:f}",
            "ChargeCategory": category,
            "InvoiceDetailDescription": description,
            "InvoiceDetailGrain": json.dumps({"ChargeCategory": category}),
            "InvoiceIssueStatus": "Issued",
            "InvoiceIssueDate": f"{issued}T00:00:00Z",
            "PaymentDueDate": f"{issued + timedelta(days=30)}T00:00:00Z",
            "PaymentTerms": "Net 30",
        }


def _details(vendor: Source, month: date, billed: Mapping[str, Decimal]) -> list[tuple[str, str, Decimal]]:
    """Return charge category, description and amount of each detail of a month's invoice, from the lines' sums by charge
    category."""
    amounts = dict(billed)
    if vendor.key in _IN_CENTS:
        amounts = {name: round(amount, 2) for name, amount in billed.items()}
        # The invoice is within a cent of its lines: usage takes the rounding of the others.
        amounts["Usage"] += round(exact_sum(billed.values()), 2) - exact_sum(amounts.values())
    details = [(name, f"{vendor.name} {name.lower()}", amounts[name]) for name in sorted(amounts)]
    if vendor.key == "aws" and month.month % 2 == 0:
        details.append(("Purchase", "AWS Marketplace: load testing, one month", NOT_IN_LINES))
    return details


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> bool:
    """Write the file; return False, without a file, if there are no rows."""
    if rows:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return bool(rows)
