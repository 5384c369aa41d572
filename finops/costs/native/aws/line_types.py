"""The FOCUS equivalent of each line item type of a Cost and Usage Report.

Sources: AWS Cost and Usage Reports user guide, "lineItem/LineItemType"; FOCUS 1.2, ChargeCategory (a charge for
consumption is Usage, an acquisition Purchase, what a provider grants Credit, what fits none of them Adjustment),
ChargeFrequency, PricingCategory. Discounts that AWS writes as separate lines are Adjustment: they have no charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

USAGE, COVERED_BY_RESERVATION, COVERED_BY_PLAN = "Usage", "DiscountedUsage", "SavingsPlanCoveredUsage"
RESERVATION_FEE, PLAN_FEE = "RIFee", "SavingsPlanRecurringFee"
PLAN_UPFRONT, FEE = "SavingsPlanUpfrontFee", "Fee"
NEGATION: Final = "SavingsPlanNegation"
"""Cancels the on-demand cost of covered usage. FOCUS bills covered usage 0, so it has such a line only if the two
differ (cur_negations.py)."""

CONSUMPTION: Final = (USAGE, COVERED_BY_RESERVATION, COVERED_BY_PLAN)
COVERED: Final = (COVERED_BY_RESERVATION, COVERED_BY_PLAN)
RECURRING_FEES: Final = (RESERVATION_FEE, PLAN_FEE)
"""Lines that include the unused part of a commitment in addition to the paid amount."""

DISCOUNTS: Final = (
    *("BundledDiscount", "Discount", "DiscountAdjustment", "EdpDiscount", "PrivateRateDiscount"),
    *("RiVolumeDiscount", "SppDiscount", "EnterpriseDiscountProgramDiscount"),
)

CATEGORIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(CONSUMPTION, "Usage"),
    **dict.fromkeys((FEE, PLAN_UPFRONT, *RECURRING_FEES), "Purchase"),
    **dict.fromkeys((*DISCOUNTS, "Refund"), "Adjustment"),
    "Tax": "Tax",
    "Credit": "Credit",
}

FREQUENCIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(CONSUMPTION, "Usage-Based"),
    **dict.fromkeys(RECURRING_FEES, "Recurring"),
}

PRICING_CATEGORIES: Final[Mapping[str, str | None]] = {
    **dict.fromkeys((USAGE, FEE, PLAN_UPFRONT, *RECURRING_FEES), "Standard"),
    **dict.fromkeys(COVERED, "Committed"),
    "Tax": None,
}


def commitment_status(line_type: str) -> str | None:
    """CommitmentDiscountStatus: Used for covered usage, null for a purchase."""
    return "Used" if line_type in COVERED else None


def charge_frequency(line_type: str) -> str:
    """ChargeFrequency; One-Time for everything but usage and recurring fees."""
    return FREQUENCIES.get(line_type, "One-Time")


def pricing_category(line_type: str) -> str | None:
    """PricingCategory, before spot usage is detected; Other for credits, discounts and refunds, null for tax."""
    return PRICING_CATEGORIES.get(line_type, "Other")


def charge_category(line_type: str) -> str:
    """ChargeCategory; Adjustment for a type not in this table, as in FOCUS for charges that fit no other."""
    return CATEGORIES.get(line_type, "Adjustment")
