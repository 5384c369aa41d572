"""Estimated cost of usage: tokens of each day times the price of that day. Exact; no estimate without a price."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from finops.ai_spend.prices import PriceList
from finops.ai_spend.queries.usage import UsageTokens
from finops.lib.money import exact_product, exact_sum

PER_TOKEN_DIGITS = -6
"""Prices are for a million tokens."""

RATES_MISSING = "No exchange rate"


class EstimatedTokens(NamedTuple):
    """Tokens of a day with their cost at that day's price; `cost` is None, with a reason, if there is no price."""

    model: str
    token_type: str
    day: date
    value: str | None
    tokens: Decimal
    cost: Decimal | None
    currency: str
    reason: str = ""
    is_own_price: bool = False


@dataclass(frozen=True)
class Pricing:
    """Prices, and the exchange rates of each day if estimates are converted to a display currency."""

    prices: PriceList
    target: str = ""
    rates: Mapping[tuple[str, date], Decimal] = field(default_factory=dict)

    def cost_of(
        self, model: str, token_type: str, day: date, tokens: Decimal
    ) -> tuple[Decimal | None, str, str]:
        """The cost of tokens and its currency, or the reason why there is none."""
        if not model:
            return None, "", "The events have no model."
        if not token_type:
            return None, "", "The events have no token type."
        price = self.prices.find(model, token_type, day)
        if price is None:
            return None, "", "No price in the price list."
        cost = exact_product(tokens, price.price_per_million.scaleb(PER_TOKEN_DIGITS))
        if not self.target or price.currency == self.target:
            return cost, price.currency, ""
        rate = self.rates.get((price.currency, day))
        if rate is None:
            return None, "", f"{RATES_MISSING} from {price.currency} to {self.target}."
        return exact_product(cost, rate), self.target, ""

    def is_own(self, model: str, token_type: str, day: date) -> bool:
        """Whether the account's own price applies to these tokens."""
        price = self.prices.find(model, token_type, day) if self.prices.has_own and model else None
        return price is not None and price.is_own


def estimate_tokens(usage: Iterable[UsageTokens], pricing: Pricing) -> list[EstimatedTokens]:
    """Estimate the cost of each, with its model as named in the price list."""
    estimated = []
    for row in usage:
        cost, currency, reason = pricing.cost_of(row.model, row.token_type, row.day, row.tokens)
        name = pricing.prices.model_name(row.model) if row.model else ""
        estimated.append(
            EstimatedTokens(
                name,
                row.token_type,
                row.day,
                row.value,
                row.tokens,
                cost,
                currency,
                reason,
                pricing.is_own(row.model, row.token_type, row.day),
            )
        )
    return estimated


def cost_by_currency(rows: Iterable[EstimatedTokens]) -> dict[str, Decimal]:
    """Sums of all estimates that have a price."""
    costs: dict[str, list[Decimal]] = defaultdict(list)
    for row in rows:
        if row.cost is not None:
            costs[row.currency].append(row.cost)
    return {currency: exact_sum(amounts) for currency, amounts in costs.items()}


def own_price_models(rows: Iterable[EstimatedTokens]) -> list[str]:
    """Models whose estimate uses the account's own prices."""
    return sorted({row.model for row in rows if row.is_own_price and row.cost is not None})


def tokens_without_price(rows: Sequence[EstimatedTokens]) -> dict[tuple[str, str, str], Decimal]:
    """Tokens without a price, by model, token type and reason."""
    tokens: dict[tuple[str, str, str], list[Decimal]] = defaultdict(list)
    for row in rows:
        if row.cost is None:
            tokens[row.model, row.token_type, row.reason].append(row.tokens)
    return {key: exact_sum(amounts) for key, amounts in tokens.items()}
