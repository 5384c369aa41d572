"""The column names of Azure's exports: Enterprise Agreement, Microsoft Customer Agreement, pay-as-you-go, translated.

Source: Microsoft, “Understand usage details fields” (Cost Management), and the header variants in
tests/data/native/azure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from finops.costs.focus.columns import fold

# The English name that Azure writes in brackets after a translated one: Abonnement-GUID (SubscriptionGuid).
_TRANSLATED: Final = re.compile(r".*\(([A-Za-z0-9 ]+)\)\s*")

# Our name of a column -> names in exports (folded); the first that a file has is used.
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "cost": ("costinbillingcurrency", "cost", "pretaxcost", "extendedcost"),
    "currency": ("billingcurrency", "billingcurrencycode", "currency", "currencycode"),
    "date": ("date", "usagedatetime", "usagedate"),
    "period_start": ("billingperiodstartdate", "billingperiodstart"),
    "period_end": ("billingperiodenddate", "billingperiodend"),
    "subscription_id": ("subscriptionid", "subscriptionguid"),
    "subscription_name": ("subscriptionname",),
    "billing_account_id": ("billingaccountid",),
    "billing_account_name": ("billingaccountname",),
    "billing_profile_id": ("billingprofileid",),
    "billing_profile_name": ("billingprofilename",),
    "charge_type": ("chargetype",),
    "pricing_model": ("pricingmodel",),
    "benefit_id": ("benefitid",),
    "benefit_name": ("benefitname",),
    "reservation_id": ("reservationid",),
    "reservation_name": ("reservationname",),
    "order_id": ("productorderid",),
    "order_name": ("productordername",),
    "frequency": ("frequency",),
    "description": ("productname", "product"),
    "quantity": ("quantity", "usagequantity"),
    "measure": ("unitofmeasure",),
    "unit_price": ("unitprice", "resourcerate"),
    "effective_price": ("effectiveprice",),
    "payg_price": ("paygprice",),
    "payg_cost": ("paygcostinbillingcurrency",),
    "pricing_currency": ("pricingcurrency", "pricingcurrencycode"),
    "exchange_rate": ("exchangeratepricingtobilling", "exchangerate"),
    "consumed_service": ("consumedservice",),
    "resource_id": ("resourceid", "instanceid", "instancename"),
    "resource_name": ("resourcename",),
    "resource_type": ("resourcetype",),
    "resource_location": ("resourcelocation", "resourcelocationnormalized", "location"),
    "availability_zone": ("availabilityzone",),
    "meter_category": ("metercategory",),
    "meter_id": ("meterid",),
    "meter_name": ("metername",),
    "product_id": ("productid",),
    "publisher_name": ("publishername",),
    "publisher_type": ("publishertype",),
    "partner_name": ("partnername",),
    "invoice_id": ("invoiceid",),
    "details": ("additionalinfo",),
    "tags": ("tags",),
}

# Microsoft's own columns that FOCUS does not have, with the names of Microsoft's FOCUS export.
EXTENSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "x_AccountName": ("accountname",),
    "x_AccountOwnerId": ("accountownerid",),
    "x_BillingExchangeRate": ("exchangeratepricingtobilling", "exchangerate"),
    "x_BillingExchangeRateDate": ("exchangeratedate",),
    "x_CostAllocationRuleName": ("costallocationrulename",),
    "x_CostCenter": ("costcenter",),
    "x_CostInPricingCurrency": ("costinpricingcurrency",),
    "x_CostInUsd": ("costinusd",),
    "x_CustomerId": ("customertenantid",),
    "x_CustomerName": ("customername",),
    "x_EffectiveUnitPrice": ("effectiveprice",),
    "x_InvoiceSectionId": ("invoicesectionid",),
    "x_InvoiceSectionName": ("invoicesectionname", "invoicesection"),
    "x_PartnerCreditApplied": ("partnerearnedcreditapplied",),
    "x_PartnerCreditRate": ("partnerearnedcreditrate",),
    "x_PricingUnitDescription": ("unitofmeasure",),
    "x_PublisherCategory": ("publishertype",),
    "x_ResellerId": ("resellermpnid",),
    "x_ResellerName": ("resellername",),
    "x_ServicePeriodEnd": ("serviceperiodenddate", "serviceperiodend"),
    "x_ServicePeriodStart": ("serviceperiodstartdate", "serviceperiodstart"),
    "x_SkuDetails": ("additionalinfo",),
    "x_SkuIsCreditEligible": ("isazurecrediteligible",),
    "x_SkuMeterCategory": ("metercategory",),
    "x_SkuMeterId": ("meterid",),
    "x_SkuMeterSubcategory": ("metersubcategory",),
    "x_SkuOfferId": ("offerid",),
    "x_SkuOrderId": ("productorderid",),
    "x_SkuOrderName": ("productordername",),
    "x_SkuPartNumber": ("partnumber",),
    "x_SkuPlanName": ("planname",),
    "x_SkuRegion": ("meterregion",),
    "x_SkuServiceFamily": ("servicefamily",),
    "x_SkuTerm": ("term",),
    "x_SkuTier": ("servicetier",),
}

NUMBERS: Final = ("cost", "quantity", "unit_price", "effective_price", "payg_price", "payg_cost")
PLAIN: Final = (*NUMBERS, "resource_id", "resource_name")
"""Columns with mostly different values."""

_CUSTOMER_AGREEMENT: Final = frozenset(
    {"costinusd", "paygcostinusd", "exchangeratepricingtobilling", "pricingcurrency"}
)
_ENTERPRISE: Final = frozenset({"accountownerid", "partnumber", "enrollmentnumber"})


def by_fold(names: Sequence[str]) -> dict[str, str]:
    """Return the file's columns by folded name; a translated column also by the name in its brackets."""
    folded: dict[str, str] = {}
    for name in names:
        translated = _TRANSLATED.fullmatch(name)
        for each in (fold(name), fold(translated[1]) if translated else ""):
            if each:
                folded.setdefault(each, name)
    return folded


def positions(names: Sequence[str]) -> dict[str, str]:
    """Return our name of a column -> the file's."""
    folded = by_fold(names)
    return {column: folded[name] for column, aliases in ALIASES.items() if (name := _first(aliases, folded))}


def extensions(names: Sequence[str]) -> dict[str, str]:
    """Return x_ column -> the file's column that it copies."""
    folded = by_fold(names)
    return {
        column: folded[name] for column, aliases in EXTENSIONS.items() if (name := _first(aliases, folded))
    }


def _first(aliases: Sequence[str], folded: Mapping[str, str]) -> str | None:
    return next((alias for alias in aliases if alias in folded), None)


def agreement(names: Sequence[str]) -> str:
    """Return the agreement of the export, for the report."""
    folded = by_fold(names)
    if "pretaxcost" in folded:
        return "pay-as-you-go subscription"
    if _CUSTOMER_AGREEMENT & folded.keys():
        return "Microsoft Customer Agreement"
    return "Enterprise Agreement" if _ENTERPRISE & folded.keys() else ""


def is_export(names: Sequence[str]) -> bool:
    """Return whether these are the columns of a cost export: a cost, a date and a meter."""
    columns = positions(names)
    meter = {"meter_category", "meter_id", "meter_name"} & columns.keys()
    return bool(meter) and {"cost", "date"} <= columns.keys()
