"""The FOCUS columns that depend on a line only, not on the day: a template for each kind of row."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa

from finops.demo.catalog import COST_SCALE, PRICE_SCALE, QUANTITY_SCALE, SKUS, Sku
from finops.demo.charges import Charge
from finops.demo.commitments import CommitmentYear, DemoCommitment
from finops.demo.company import REGIONS, SUB_ACCOUNTS, VENDORS, Source, SubAccount, digest
from finops.demo.lines import ResourceLine

MOMENT = pa.timestamp("us", tz="UTC")
COST = pa.decimal128(38, COST_SCALE)
PRICE = pa.decimal128(38, PRICE_SCALE)
QUANTITY = pa.decimal128(38, QUANTITY_SCALE)

# Columns that follow from the template, with their types; Tags is a map at AWS and a JSON text elsewhere.
TEMPLATE_COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(
        (
            "ProviderName", "PublisherName", "InvoiceIssuerName", "BillingAccountId", "BillingAccountName",
            "BillingAccountType", "BillingCurrency", "SubAccountId", "SubAccountName", "SubAccountType",
            "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "PricingCategory",
            "PricingUnit", "PricingCurrency", "ConsumedUnit", "ServiceName", "ServiceCategory", "ServiceSubcategory",
            "SkuId", "SkuMeter", "SkuPriceId", "ResourceId", "ResourceName", "ResourceType", "RegionId", "RegionName",
            "CommitmentDiscountId", "CommitmentDiscountName", "CommitmentDiscountCategory", "CommitmentDiscountType",
            "CommitmentDiscountStatus", "CommitmentDiscountUnit",
        ),
        pa.string(),
    ),
    "ListUnitPrice": PRICE,
    "ContractedUnitPrice": PRICE,
}  # fmt: skip
FACT_COLUMNS: dict[str, pa.DataType] = {
    "BillingPeriodStart": MOMENT,
    "BillingPeriodEnd": MOMENT,
    "InvoiceId": pa.string(),
    "ChargePeriodStart": MOMENT,
    "ChargePeriodEnd": MOMENT,
    "BilledCost": COST,
    "EffectiveCost": COST,
    "ListCost": COST,
    "ContractedCost": COST,
    "PricingQuantity": QUANTITY,
    "ConsumedQuantity": QUANTITY,
    "CommitmentDiscountQuantity": pa.decimal128(38, COST_SCALE),
}


def _tags_type(source: str) -> pa.DataType:
    return pa.map_(pa.string(), pa.string()) if source == "aws" else pa.string()


SCHEMA: dict[str, pa.Schema] = {
    source: pa.schema([*FACT_COLUMNS.items(), *TEMPLATE_COLUMNS.items(), ("Tags", _tags_type(source))])
    for source in VENDORS
}


def contracted_price(vendor: Source, price: int) -> int:
    """Lumenly's negotiated price: the list price less the vendor's discount, in 1e-9."""
    return price * vendor.negotiated // 1000


def _bill(vendor: Source, sub_account: SubAccount) -> dict[str, Any]:
    return {
        "ProviderName": vendor.provider,
        "PublisherName": vendor.publisher,
        "InvoiceIssuerName": vendor.publisher,
        "BillingAccountId": vendor.billing_account_id,
        "BillingAccountName": vendor.billing_account_name,
        "BillingAccountType": vendor.billing_account_type,
        "BillingCurrency": vendor.currency,
        "PricingCurrency": vendor.currency,
        "SubAccountId": sub_account.id,
        "SubAccountName": sub_account.name,
        "SubAccountType": vendor.sub_account_type,
    }


def _product(vendor: Source, sku: Sku, price: int | None) -> dict[str, Any]:
    mark = digest("sku", sku.key, length=12).upper()
    return {
        "ServiceName": sku.service,
        "ServiceCategory": sku.category,
        "ServiceSubcategory": sku.subcategory,
        "SkuId": mark,
        "SkuMeter": sku.meter,
        "SkuPriceId": f"{mark}.{vendor.key.upper()}",
        "PricingUnit": sku.unit,
        "ConsumedUnit": sku.unit,
        "ListUnitPrice": None if price is None else Decimal(price).scaleb(-PRICE_SCALE),
        "ContractedUnitPrice": None
        if price is None
        else Decimal(contracted_price(vendor, price)).scaleb(-PRICE_SCALE),
    }


def _tags(vendor: Source, tags: dict[str, str]) -> Any:
    if vendor.key == "aws":
        return list(tags.items()) or None
    return json.dumps(tags, ensure_ascii=False) if tags else None


def usage(vendor: Source, line: ResourceLine) -> dict[str, Any]:
    """Usage at the negotiated price."""
    return {
        **_bill(vendor, line.sub_account),
        **_product(vendor, line.sku, line.sku.price),
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "ChargeDescription": line.sku.description,
        "PricingCategory": "Dynamic" if line.sku.key.startswith("spot.") else "Standard",
        "ResourceId": line.resource_id,
        "ResourceName": line.resource_name,
        "ResourceType": line.sku.resource_type,
        "RegionId": line.region,
        "RegionName": REGIONS[line.region],
        "Tags": _tags(vendor, line.tags),
    }


def covered_usage(vendor: Source, line: ResourceLine, term: CommitmentYear) -> dict[str, Any]:
    """Usage that a commitment covers: nothing is billed, the effective cost is its share of the commitment."""
    return {
        **usage(vendor, line),
        **_commitment(term),
        "PricingCategory": "Committed",
        "CommitmentDiscountStatus": "Used",
        "ChargeDescription": f"{line.sku.description}, covered by {term.commitment.name}",
    }


def unused_commitment(vendor: Source, term: CommitmentYear) -> dict[str, Any]:
    """The unused part of a commitment."""
    return {
        **_commitment_line(vendor, term),
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "ChargeDescription": f"Unused part of {term.commitment.name}",
        "PricingCategory": "Committed",
        "CommitmentDiscountStatus": "Unused",
        "PricingUnit": None,
        "ConsumedUnit": None,
    }


def purchase(vendor: Source, term: CommitmentYear) -> dict[str, Any]:
    """A fee for a commitment."""
    return {
        **_commitment_line(vendor, term),
        "ChargeCategory": "Purchase",
        "ChargeFrequency": "One-Time" if term.commitment.paid == "upfront" else "Recurring",
        "ChargeDescription": f"{term.commitment.name}, {term.commitment.paid} fee",
        "PricingCategory": "Standard",
        "PricingUnit": "Fee",
        "ConsumedUnit": None,
    }


def _commitment_line(vendor: Source, term: CommitmentYear) -> dict[str, Any]:
    commitment = term.commitment
    return {
        **_bill(vendor, SUB_ACCOUNTS[commitment.sub_account]),
        **_product(vendor, SKUS[commitment.sku], None),
        **_commitment(term),
        "SkuMeter": commitment.type,
        "ResourceId": term.id,
        "ResourceName": commitment.name,
        "ResourceType": commitment.type,
        "RegionId": commitment.region,
        "RegionName": REGIONS[commitment.region],
    }


def _commitment(term: CommitmentYear) -> dict[str, Any]:
    commitment: DemoCommitment = term.commitment
    return {
        "CommitmentDiscountId": term.id,
        "CommitmentDiscountName": commitment.name,
        "CommitmentDiscountCategory": commitment.category,
        "CommitmentDiscountType": commitment.type,
        "CommitmentDiscountUnit": commitment.unit,
    }


def charge(vendor: Source, item: Charge) -> dict[str, Any]:
    """A fee, credit, refund, correction or tax."""
    return {
        **_bill(vendor, SUB_ACCOUNTS[item.sub_account]),
        "ServiceName": item.service,
        "ServiceCategory": item.category,
        "ServiceSubcategory": f"Other ({item.category})",
        "ChargeCategory": item.charge_category,
        "ChargeClass": item.charge_class,
        "ChargeFrequency": item.frequency,
        "ChargeDescription": item.description,
    }
