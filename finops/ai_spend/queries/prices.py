"""The prices of an account."""

from __future__ import annotations

from accounts.models import Account
from finops.ai_spend.prices import PriceList, list_prices


def account_prices(account: Account) -> PriceList:
    """The public list."""
    return list_prices()
