"""The vendors' commitments as FOCUS 1.3 Contract Commitment files: what was promised, for how much, until when."""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal
from pathlib import Path

from finops.demo.catalog import COST_SCALE, QUANTITY_SCALE
from finops.demo.commitments import COMMITMENTS, Term, daily_worth, term_of
from finops.demo.company import VENDORS


def _row(term: Term) -> dict[str, str]:
    one, vendor = term.commitment, VENDORS[term.commitment.source]
    spend = one.category == "Spend"
    start, end = f"{term.start}T00:00:00Z", f"{term.end}T00:00:00Z"
    hours = Decimal(term.daily_hours * term.days).scaleb(-QUANTITY_SCALE) if not spend else None
    return {
        "ContractCommitmentId": term.id,
        "ContractCommitmentType": one.type,
        "ContractCommitmentCategory": one.category,
        "ContractCommitmentCost": str(Decimal(daily_worth(term) * term.days).scaleb(-COST_SCALE)),
        "ContractCommitmentQuantity": "" if hours is None else str(hours),
        "ContractCommitmentUnit": "" if spend else one.unit,
        "ContractCommitmentDescription": one.name,
        "ContractCommitmentPeriodStart": start,
        "ContractCommitmentPeriodEnd": end,
        "ContractId": f"{vendor.billing_account_id}/{one.key}",
        "ContractPeriodStart": start,
        "ContractPeriodEnd": end,
        "BillingCurrency": vendor.currency,
    }


def write_contracts(source: str, path: Path, start: date, end: date) -> bool:
    """Write a vendor's terms that touch the days from start to end. False, and no file, when it has none."""
    terms = [
        term_of(commitment, day)
        for commitment in COMMITMENTS
        if commitment.source == source
        for day in dict.fromkeys(
            (
                start,
                *(date(year, commitment.month, commitment.day) for year in range(start.year, end.year + 1)),
            )
        )
        if start <= day <= end
    ]
    if not terms:
        return False
    rows = [_row(term) for term in dict.fromkeys(terms)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return True
