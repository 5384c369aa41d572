"""What an import brings beside cost lines: contract commitments, invoice details, billing periods."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import Any, Final

import msgspec

from finops.costs.focus.normalise import NormalisedBill
from finops.costs.models import BillingPeriod, ContractCommitment, CostImport, InvoiceDetail

BATCH: Final = 1_000


def replace_other_datasets(job: CostImport, bill: NormalisedBill) -> None:
    """The rows take the place of the source's: all its commitments; its details of the same issuer, invoice and billing
    period; its billing periods of the same issuer and start. Call it in the import's transaction."""
    if bill.commitments is not None:
        ContractCommitment.objects.filter(source=job.source).delete()
        _create(job, ContractCommitment, bill.commitments)
    _replace_details(job, bill)
    _replace_periods(job, bill)


def _replace_details(job: CostImport, bill: NormalisedBill) -> None:
    invoices: dict[tuple[str, date], set[str]] = defaultdict(set)
    for row in bill.invoice_details:
        invoices[row.issuer, row.billing_period].add(row.invoice_id)
    for (issuer, period), names in invoices.items():
        InvoiceDetail.objects.filter(
            source=job.source, issuer=issuer, billing_period=period, invoice_id__in=names
        ).delete()
    _create(job, InvoiceDetail, bill.invoice_details)


def _replace_periods(job: CostImport, bill: NormalisedBill) -> None:
    """The last row of a period counts when a file has several: each says a later state."""
    newest = {(row.issuer, row.billing_period): row for row in sorted(bill.billing_periods, key=_age)}
    starts: dict[str, set[date]] = defaultdict(set)
    for issuer, period in newest:
        starts[issuer].add(period)
    for issuer, periods in starts.items():
        BillingPeriod.objects.filter(source=job.source, issuer=issuer, billing_period__in=periods).delete()
    _create(job, BillingPeriod, list(newest.values()))


def _age(row: Any) -> tuple[bool, Any]:
    return row.updated_at is not None, row.updated_at or row.period_start


def _create(job: CostImport, model: Any, rows: Any) -> None:
    instances = (model(account=job.account, source=job.source, **msgspec.structs.asdict(row)) for row in rows)
    model.objects.bulk_create(instances, batch_size=BATCH)
