"""Spellings of dimension names, and titles of providers' own columns."""

from __future__ import annotations

EXTENSION = "x_"
"""The prefix of providers' own columns, also as dimensions."""

EXTENSION_TITLES = {"Model": "Model", "TokenType": "Token type", "ServiceTier": "Service tier"}
"""Titles of providers' own columns that several connectors fill, by name without x_; titles are accepted as names."""

_OTHER_NAMES = {
    "cloud": "provider",
    "vendor": "provider",
    "category": "service_category",
    "sub_account": "account",
    "subaccount": "account",
    "account_id": "account",
    "account_name": "account",
    "subscription": "account",
    "project": "account",
    "sku_id": "sku",
    "sku_meter": "usage_type",
    "meter": "usage_type",
    "resource_id": "resource",
    "user": "actor",
    "cost_source": "source",
    "commitment_id": "commitment",
    "purchase_type": "pricing_category",
    "purchase_option": "pricing_category",
    "pricing_model": "pricing_category",
    "charge_type": "charge_category",
    "billing_month": "billing_period",
    "invoice_month": "billing_period",
    "invoice_id": "invoice",
    "invoice_number": "invoice",
    "invoice_issuer_name": "invoice_issuer",
    "issuer": "invoice_issuer",
    "billing_account_id": "billing_account",
    "billing_account_name": "billing_account",
    "payer": "billing_account",
    "payer_account": "billing_account",
    "publisher_name": "publisher",
    "host_provider_name": "host_provider",
    "zone": "availability_zone",
    "subcategory": "service_subcategory",
    "billing_currency": "currency",
}


def plain_name(name: str) -> str:
    """Return a dimension's name in lower case with underscores, with alternative names resolved."""
    folded = name.strip().lower().replace(" ", "_").replace("-", "_")
    return _OTHER_NAMES.get(folded, folded)


TITLED_EXTENSIONS = {plain_name(title): name for name, title in EXTENSION_TITLES.items()}


def extension_title(column_name: str) -> str:
    """Return the title of a provider's own column, by its name without x_."""
    return EXTENSION_TITLES.get(column_name, f"{EXTENSION}{column_name}")
