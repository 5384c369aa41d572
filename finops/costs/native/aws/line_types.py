"""What each line item type of a Cost and Usage Report is in FOCUS.

Sources: AWS Cost and Usage Reports user guide, "lineItem/LineItemType"; FOCUS 1.2, ChargeCategory (a charge for what was
consumed is Usage, an acquisition Purchase, what a provider grants Credit, what fits none of them Adjustment),
ChargeFrequency, PricingCategory. Discounts that AWS writes as lines of their own are Adjustment: they belong to no one charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

USAGE, COVERED_BY_RESERVATION, COVERED_BY_PLAN = "Usage", "DiscountedUsage", "SavingsPlanCoveredUsage"
RESERVATION_FEE, PLAN_FEE = "RIFee", "SavingsPlanRecurringFee"
PLAN_UPFRONT, FEE = "SavingsPlanUpfrontFee", "Fee"
NEGATION: Final = "SavingsPlanNegation"
"""Takes the on-demand cost of covered usage away again. FOCUS bills covered usage 0, so it has no such line but where the two
differ (cur_negations.py)."""

CONSUMPTION: Final = (USAGE, COVERED_BY_RESERVATION, COVERED_BY_PLAN)
COVERED: Final = (COVERED_BY_RESERVATION, COVERED_BY_PLAN)
RECURRING_FEES: Final = (RESERVATION_FEE, PLAN_FEE)
"""Lines that carry what was not used of a commitment, beside what was paid."""

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
    """CommitmentDiscountStatus: Used of covered usage, none of a purchase."""
    return "Used" if line_type in COVERED else None


def charge_frequency(line_type: str) -> str:
    """ChargeFrequency; One-Time of all that is neither usage nor a recurring fee."""
    return FREQUENCIES.get(line_type, "One-Time")


def pricing_category(line_type: str) -> str | None:
    """PricingCategory, before spot usage is looked for; Other of credits, discounts and refunds, none of tax."""
    return PRICING_CATEGORIES.get(line_type, "Other")


def charge_category(line_type: str) -> str:
    """ChargeCategory; a type that this table lacks is what FOCUS says of charges that fit no other: Adjustment."""
    return CATEGORIES.get(line_type, "Adjustment")
