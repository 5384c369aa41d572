"""The price list as seen by lower apps."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal

from finops.ai_spend.naming import model_keys
from finops.ai_spend.prices import list_prices
from finops.ai_spend.queries.costs import tokens_per_unit
from finops.ai_spend.queries.estimates import PER_TOKEN_DIGITS
from finops.costs.token_prices import TokenUnitPrice


class ListedTokenPrices:
    """The public prices of `data/prices.csv`."""

    def price(self, model: str, token_type: str, day: date) -> TokenUnitPrice | None:
        listed = list_prices().find(model, token_type, day)
        if listed is None:
            return None
        return TokenUnitPrice(listed.price_per_million.scaleb(PER_TOKEN_DIGITS), listed.currency)

    def has_prices(self, model: str) -> bool:
        listed = {model_keys(price.model)[0] for price in list_prices().prices}
        return any(key in listed for key in model_keys(model))

    def models(self) -> Collection[str]:
        return sorted({price.model for price in list_prices().prices})

    def tokens_per_unit(self, unit: str | None) -> Decimal | None:
        return tokens_per_unit(unit)
