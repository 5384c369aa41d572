"""Lines of a bill that are not usage: fees, credits, refunds, corrections, tax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from finops.demo.catalog import CENT
from finops.demo.company import Source
from finops.demo.scenario import growth


@dataclass(frozen=True)
class Charge:
    """One charge: amount in 1e-12 of the currency, negative for credits. `day` may be before the posting."""

    source: str
    day: date
    sub_account: str
    service: str
    category: str
    charge_category: str
    charge_class: str | None
    frequency: str
    description: str
    amount: int


# source, months (empty: every), day of month, account, service, service category, charge category, class,
# frequency, description, amount at volume 1; charged for last month when the class is Correction
_CALENDAR: tuple[tuple[str, tuple[int, ...], int, str, str, str, str, str | None, str, str, float], ...] = (
    ("aws", (), 1, "shared", "AWS Support (Business)", "Management and Governance", "Purchase", None, "Recurring",
     "AWS Business Support monthly fee", 3900.0),
    ("aws", (), 3, "shared", "AWS Migration Acceleration Program", "Other", "Credit", None, "One-Time",
     "MAP 2.0 migration credit", -2400.0),
    ("aws", (2, 8), 12, "shared", "Amazon Route 53", "Networking", "Purchase", None, "One-Time",
     "Registration of 14 domains", 182.0),
    ("aws", (9,), 15, "shared", "AWS Marketplace: Beacon Security Scanner", "Security", "Purchase", None, "One-Time",
     "Annual subscription, 400 hosts", 18500.0),
    ("aws", (5, 11), 5, "prod", "Amazon Relational Database Service", "Databases", "Usage", "Correction",
     "Usage-Based", "Correction of backup storage charged twice", -1310.0),
    ("aws", (4, 10), 18, "prod", "Amazon OpenSearch Service", "Analytics", "Credit", None, "One-Time",
     "Refund: service level missed in us-east-1", -640.0),
    ("azure", (), 1, "eu-prod", "Unified Support", "Management and Governance", "Purchase", None, "Recurring",
     "Unified Support monthly fee", 850.0),
    ("azure", (3, 9), 6, "eu-prod", "Storage Accounts", "Storage", "Usage", "Correction", "Usage-Based",
     "Correction of hot tier rate", -415.0),
    ("azure", (6,), 20, "eu-prod", "Azure Prepayment", "Other", "Credit", None, "One-Time",
     "Credit: Microsoft for growing companies", -5000.0),
    ("azure", (10,), 9, "eu-prod", "Professional Services", "Other", "Purchase", None, "One-Time",
     "Landing zone review, five days", 3200.0),
    ("gcp", (), 2, "analytics", "Google Cloud credits", "Other", "Credit", None, "One-Time",
     "Data analytics adoption credit", -900.0),
    ("gcp", (1, 7), 11, "ml", "Vertex AI", "AI and Machine Learning", "Adjustment", None, "One-Time",
     "Goodwill adjustment for a failed training run", -275.0),
    ("anthropic", (), 1, "ws-engineering", "Claude Team", "AI and Machine Learning", "Purchase", None, "Recurring",
     "Claude Team plan, seats", 900.0),
    ("anthropic", (2, 9), 7, "ws-product", "Claude API", "AI and Machine Learning", "Credit", None, "One-Time",
     "Service credit for an incident", -320.0),
)  # fmt: skip


def charges_on(source: str, day: date) -> Iterator[Charge]:
    """Return a vendor's charges posted on that day besides usage and commitments. Tax is separate: it is computed by month."""
    for vendor, months, when, account, service, category, kind, klass, frequency, text, amount in _CALENDAR:
        if vendor == source and day.day == when and (not months or day.month in months):
            charged = day - timedelta(days=day.day + 4) if klass else day
            whole_cents = round(amount * growth(day) * 100)
            yield Charge(
                source, charged, account, service, category, kind, klass, frequency, text, whole_cents * CENT
            )


def tax_on(source: Source, month_end: date, billed: int) -> Charge | None:
    """Return the tax on a whole month's bill (in 1e-12), posted on its last day; None where none is due."""
    if not source.tax_rate or billed <= 0:
        return None
    account = {"aws": "shared", "azure": "eu-prod"}[source.key]
    amount = (billed * source.tax_rate // 1000 + CENT // 2) // CENT * CENT
    return Charge(
        source.key, month_end, account, "Tax", "Other", "Tax", None, "One-Time", source.tax_name, amount
    )  # fmt: skip
