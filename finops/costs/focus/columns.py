"""FOCUS columns: their names in versions 1.0 to 1.4, the cost columns that they fill, and which are mandatory.

Source: the FOCUS specification's data models 1.0 to 1.4 (tests compare these tables with the 1.4 model).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

# Cost column -> the FOCUS columns that fill it; the first with a value wins.
TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "provider": ("ServiceProviderName", "ProviderName"),
    "service": ("ServiceName",),
    "service_category": ("ServiceCategory",),
    "region": ("RegionId",),
    "account_id": ("SubAccountId",),
    "account_name": ("SubAccountName",),
    "usage_type": ("SkuMeter", "SkuId"),
    "sku_id": ("SkuId",),
    "resource_id": ("ResourceId",),
    "resource_name": ("ResourceName",),
    "resource_type": ("ResourceType",),
    "charge_category": ("ChargeCategory",),
    "charge_class": ("ChargeClass",),
    "charge_frequency": ("ChargeFrequency",),
    "charge_description": ("ChargeDescription",),
    "pricing_category": ("PricingCategory",),
    "commitment_id": ("CommitmentDiscountId",),
    "commitment_name": ("CommitmentDiscountName",),
    "commitment_type": ("CommitmentDiscountType",),
    "commitment_category": ("CommitmentDiscountCategory",),
    "commitment_status": ("CommitmentDiscountStatus",),
    "commitment_unit": ("CommitmentDiscountUnit",),
    "currency": ("BillingCurrency",),
    "consumed_unit": ("ConsumedUnit",),
    "allocated_method_id": ("AllocatedMethodId",),
    "allocated_method_details": ("AllocatedMethodDetails",),
    "allocated_resource_id": ("AllocatedResourceId",),
    "allocated_resource_name": ("AllocatedResourceName",),
    "invoice_id": ("InvoiceId",),
    "invoice_detail_id": ("InvoiceDetailId",),
    "invoice_issuer": ("InvoiceIssuerName",),
    "billing_account_id": ("BillingAccountId",),
    "billing_account_name": ("BillingAccountName",),
    "billing_account_type": ("BillingAccountType",),
    "account_type": ("SubAccountType",),
    "provider_name": ("ProviderName",),
    "host_provider": ("HostProviderName",),
    "publisher": ("PublisherName",),
    "service_subcategory": ("ServiceSubcategory",),
    "region_name": ("RegionName",),
    "availability_zone": ("AvailabilityZone",),
    "sku_meter": ("SkuMeter",),
    "sku_price_id": ("SkuPriceId",),
    "sku_price_details": ("SkuPriceDetails",),
    "pricing_unit": ("PricingUnit",),
    "pricing_currency": ("PricingCurrency",),
    "capacity_reservation_id": ("CapacityReservationId",),
    "capacity_reservation_status": ("CapacityReservationStatus",),
    "commitment_program_eligibility_details": ("CommitmentProgramEligibilityDetails",),
    "contract_applied": ("ContractApplied",),
    "allocated_tags": ("AllocatedTags",),
}

AMOUNTS: Final[Mapping[str, str]] = {
    "billed_cost": "BilledCost",
    "effective_cost": "EffectiveCost",
    "list_cost": "ListCost",
    "contracted_cost": "ContractedCost",
    "consumed_quantity": "ConsumedQuantity",
    "commitment_quantity": "CommitmentDiscountQuantity",
    "pricing_quantity": "PricingQuantity",
    "list_unit_price": "ListUnitPrice",
    "contracted_unit_price": "ContractedUnitPrice",
    "pricing_currency_effective_cost": "PricingCurrencyEffectiveCost",
    "pricing_currency_list_unit_price": "PricingCurrencyListUnitPrice",
    "pricing_currency_contracted_unit_price": "PricingCurrencyContractedUnitPrice",
}

TIMES: Final[Mapping[str, str]] = {
    "billing_period_start": "BillingPeriodStart",
    "billing_period_end": "BillingPeriodEnd",
    "charge_period_start": "ChargePeriodStart",
    "charge_period_end": "ChargePeriodEnd",
}

# Kept only if a file has both columns; if it has one, the first fills another cost column unchanged.
BESIDE: Final[Mapping[str, tuple[str, str]]] = {
    "provider_name": ("ProviderName", "ServiceProviderName"),
    "sku_meter": ("SkuMeter", "SkuId"),
}

# JSON, stored as text. Parquet files may have maps, structs or lists.
DETAILS: Final = frozenset(
    {
        *("AllocatedMethodDetails", "AllocatedTags", "CommitmentProgramEligibilityDetails"),
        *("ContractApplied", "SkuPriceDetails"),
    }
)

# Cost columns with so many values that a dictionary per batch only takes time (measured: a quarter of the time).
DENSE: Final = frozenset({"resource_id", "resource_name"})

QUANTITIES: Final = frozenset({"ConsumedQuantity", "CommitmentDiscountQuantity", "PricingQuantity"})

# No sum, day or name depends on these: an unreadable value is left out and the file is imported.
LENIENT: Final = frozenset(
    {
        *("PricingQuantity", "ListUnitPrice", "ContractedUnitPrice", "PricingCurrencyEffectiveCost"),
        *("PricingCurrencyListUnitPrice", "PricingCurrencyContractedUnitPrice"),
        *("BillingPeriodEnd", "ChargePeriodEnd"),
    }
)

BILLING_PERIOD: Final = "BillingPeriodStart"
CHARGE_PERIOD: Final = "ChargePeriodStart"
TAGS: Final = "Tags"

# Columns of AI vendors with the person or key behind a cost; the first present wins, before any tag.
ACTOR_COLUMNS: Final = (
    "x_Actor",
    "x_User",
    "x_UserEmail",
    "x_UserName",
    "x_UserId",
    "x_IamPrincipal",
    "x_ApiKeyName",
    "x_ApiKeyId",
)

# Without these a line has no amount, day, currency or meaning. Each entry: the names that satisfy it.
MANDATORY: Final[tuple[tuple[str, ...], ...]] = (
    ("BilledCost",),
    ("EffectiveCost",),
    ("BillingCurrency",),
    ("BillingPeriodStart",),
    ("ChargeCategory",),
    ("ProviderName", "ServiceProviderName"),
    ("ServiceName",),
)

# A row must have these; other mandatory columns may be empty in a row, which the report counts.
NEVER_NULL: Final = frozenset(
    {"BilledCost", "EffectiveCost", "BillingCurrency", "BillingPeriodStart", "ChargeCategory"}
)

# FOCUS requires a value in these; real files lack some, and the report counts them.
EXPECTED: Final = ("ServiceName", "ServiceCategory", "ListCost", "ContractedCost", "ChargePeriodStart")

ENUMERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "ChargeCategory": ("Usage", "Purchase", "Tax", "Credit", "Adjustment"),
    "ChargeClass": ("Correction",),
    "ChargeFrequency": ("One-Time", "Recurring", "Usage-Based"),
    "PricingCategory": ("Standard", "Dynamic", "Committed", "Other"),
    "CommitmentDiscountCategory": ("Spend", "Usage"),
    "CommitmentDiscountStatus": ("Used", "Unused"),
    "CapacityReservationStatus": ("Used", "Unused"),
    "InvoiceIssueStatus": ("Open", "Issued", "Voided"),
    "BillingPeriodStatus": ("Open", "Closed"),
}

# The FOCUS version that introduced each column of Cost and Usage.
SINCE: Final[Mapping[str, tuple[str, ...]]] = {
    "1.0": (
        *("AvailabilityZone", "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency"),
        *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription"),
        *("ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "CommitmentDiscountCategory"),
        *(
            "CommitmentDiscountId",
            "CommitmentDiscountName",
            "CommitmentDiscountStatus",
            "CommitmentDiscountType",
        ),
        *("ConsumedQuantity", "ConsumedUnit", "ContractedCost", "ContractedUnitPrice", "EffectiveCost"),
        *(
            "InvoiceIssuerName",
            "ListCost",
            "ListUnitPrice",
            "PricingCategory",
            "PricingQuantity",
            "PricingUnit",
        ),
        *(
            "ProviderName",
            "PublisherName",
            "RegionId",
            "RegionName",
            "ResourceId",
            "ResourceName",
            "ResourceType",
        ),
        *("ServiceCategory", "ServiceName", "SkuId", "SkuPriceId", "SubAccountId", "SubAccountName", "Tags"),
    ),
    "1.1": (
        *("CapacityReservationId", "CapacityReservationStatus", "CommitmentDiscountQuantity"),
        *("CommitmentDiscountUnit", "ServiceSubcategory", "SkuMeter", "SkuPriceDetails"),
    ),
    "1.2": (
        *("BillingAccountType", "InvoiceId", "PricingCurrency", "PricingCurrencyContractedUnitPrice"),
        *("PricingCurrencyEffectiveCost", "PricingCurrencyListUnitPrice", "SubAccountType"),
    ),
    "1.3": (
        *("AllocatedMethodDetails", "AllocatedMethodId", "AllocatedResourceId", "AllocatedResourceName"),
        *("AllocatedTags", "ContractApplied", "HostProviderName", "ServiceProviderName"),
    ),
    "1.4": ("CommitmentProgramEligibilityDetails", "InvoiceDetailId"),
}
REMOVED_IN_1_4: Final = frozenset({"ProviderName", "PublisherName"})

# Microsoft's FOCUS 1.0 export has these two of 1.2 already, so they prove nothing.
_PROVES_NOTHING: Final = frozenset({"BillingAccountType", "SubAccountType"})

KNOWN: Final = tuple(name for names in SINCE.values() for name in names)

COST_AND_USAGE: Final = "Cost and Usage"
CONTRACT_COMMITMENT: Final = "Contract Commitment"
BILLING_PERIODS: Final = "Billing Period"
INVOICE_DETAIL: Final = "Invoice Detail"

# Columns that only this dataset has, most distinctive first.
_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    CONTRACT_COMMITMENT: ("ContractCommitmentId", "ContractCommitmentPeriodStart"),
    BILLING_PERIODS: ("BillingPeriodStatus", "BillingPeriodCreated"),
    INVOICE_DETAIL: ("InvoiceIssueStatus", "InvoiceIssueDate", "InvoiceDetailGrain"),
}

CURRENCY: Final = "BillingCurrency"


@dataclass(frozen=True)
class DatasetColumns:
    """The columns of a dataset other than Cost and Usage: field of a row -> FOCUS column.

    `periods` are read as days in the month that they name, `times` with the full time. Files must have the columns of
    the fields in `never_null`, with a value in every row.
    """

    texts: Mapping[str, str]
    amounts: Mapping[str, str]
    times: Mapping[str, str]
    never_null: tuple[str, ...]
    periods: Mapping[str, str] = field(default_factory=dict)

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.texts.values(), *self.amounts.values(), *self.times.values())

    @property
    def mandatory(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.column_of(name) for name in self.never_null))

    def column_of(self, name: str) -> str:
        return {**self.texts, **self.amounts, **self.times, **self.periods}[name]


DATASETS: Final[Mapping[str, DatasetColumns]] = {
    CONTRACT_COMMITMENT: DatasetColumns(
        texts={
            "commitment_id": "ContractCommitmentId",
            "commitment_type": "ContractCommitmentType",
            "category": "ContractCommitmentCategory",
            "description": "ContractCommitmentDescription",
            "unit": "ContractCommitmentUnit",
            "contract_id": "ContractId",
            "currency": CURRENCY,
        },
        amounts={"cost": "ContractCommitmentCost", "quantity": "ContractCommitmentQuantity"},
        times={
            "period_start": "ContractCommitmentPeriodStart",
            "period_end": "ContractCommitmentPeriodEnd",
            "contract_start": "ContractPeriodStart",
            "contract_end": "ContractPeriodEnd",
        },
        never_null=("commitment_id", "period_start", "period_end"),
    ),
    INVOICE_DETAIL: DatasetColumns(
        texts={
            "issuer": "InvoiceIssuerName",
            "invoice_id": "InvoiceId",
            "detail_id": "InvoiceDetailId",
            "billing_account_id": "BillingAccountId",
            "currency": CURRENCY,
            "charge_category": "ChargeCategory",
            "description": "InvoiceDetailDescription",
            "grain": "InvoiceDetailGrain",
            "status": "InvoiceIssueStatus",
            "payment_terms": "PaymentTerms",
            "purchase_order": "PurchaseOrderNumber",
            "reference_invoice_id": "ReferenceInvoiceId",
            "payment_currency": "PaymentCurrency",
        },
        amounts={"billed_cost": "BilledCost", "payment_cost": "PaymentCurrencyBilledCost"},
        times={
            "period_start": BILLING_PERIOD,
            "period_end": "BillingPeriodEnd",
            "issued_at": "InvoiceIssueDate",
            "due_at": "PaymentDueDate",
        },
        periods={"billing_period": BILLING_PERIOD},
        never_null=("issuer", "invoice_id", "currency", "billed_cost", "period_start"),
    ),
    BILLING_PERIODS: DatasetColumns(
        texts={"issuer": "InvoiceIssuerName", "status": "BillingPeriodStatus"},
        amounts={},
        times={
            "period_start": BILLING_PERIOD,
            "period_end": "BillingPeriodEnd",
            "created_at": "BillingPeriodCreated",
            "updated_at": "BillingPeriodLastUpdated",
        },
        periods={"billing_period": BILLING_PERIOD},
        never_null=("issuer", "status", "period_start"),
    ),
}

LONG_TEXTS: Final = frozenset(
    {"ContractCommitmentDescription", "InvoiceDetailDescription", "InvoiceDetailGrain"}
)
"""Texts of these datasets without a length limit."""

OTHER_AMOUNTS: Final = tuple(
    dict.fromkeys(column for columns in DATASETS.values() for column in columns.amounts.values())
)
"""Numeric columns of these datasets."""


def sources_of(column: str) -> tuple[str, ...]:
    """Return the FOCUS columns that fill a cost column."""
    return TEXTS.get(column) or tuple(mapping[column] for mapping in (AMOUNTS, TIMES) if column in mapping)


@lru_cache(maxsize=4_096)
def fold(name: str) -> str:
    """Normalise a column name for comparison: `Billed Cost`, `billed_cost` and `BILLEDCOST` are BilledCost."""
    folded = name.casefold()
    return folded if folded.isalnum() else _NOT_ALPHANUMERIC.sub("", folded)


_NOT_ALPHANUMERIC: Final = re.compile(r"[\W_]+")


def focus_version(names: Collection[str]) -> str:
    """Return the lowest FOCUS version that has all these columns; 1.4 if only 1.4 may omit ProviderName."""
    if "ServiceProviderName" in names and not REMOVED_IN_1_4 & set(names):
        return "1.4"
    telling = set(names) - _PROVES_NOTHING
    return max((since for since, columns in SINCE.items() if telling & set(columns)), default="1.0")


def columns_of(version: str) -> frozenset[str]:
    """Return the columns of Cost and Usage in that FOCUS version."""
    columns_until = {name for since, names in SINCE.items() if since <= version for name in names}
    return frozenset(columns_until - REMOVED_IN_1_4 if version == "1.4" else columns_until)


def dataset(folded: Collection[str]) -> str:
    """Return the FOCUS dataset with these (folded) columns; Cost and Usage unless they indicate another."""
    if fold("EffectiveCost") in folded:
        return COST_AND_USAGE
    for name, marks in _MARKS.items():
        if any(fold(mark) in folded for mark in marks):
            return name
    return COST_AND_USAGE
