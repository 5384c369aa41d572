"""The token prices of an account."""

from __future__ import annotations

from accounts.models import Account
from finops.ai_spend.models import AiPrice
from finops.ai_spend.prices import PriceList, TokenPrice, list_prices


def account_prices(account: Account) -> PriceList:
    """The public list, preceded by the account's own prices; of two for a model and token type the one with the later
    day applies. One query."""
    rows = AiPrice.objects.filter(account=account).order_by("-valid_from")
    listed = list_prices()
    own = [
        TokenPrice(
            vendor=listed.vendor_of(row.model),
            model=row.model,
            token_type=row.token_type,
            price_per_million=row.price_per_million,
            currency=row.currency,
            valid_from=row.valid_from,
            is_own=True,
        )
        for row in rows
    ]
    return listed.with_own(own) if own else listed
