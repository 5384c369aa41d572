"""Registrations of AI spend with lower apps: its dimensions and its price list."""

from __future__ import annotations

from finops.ai_spend.dimensions import KINDS
from finops.ai_spend.token_prices import ListedTokenPrices
from finops.costs.dimensions import registry
from finops.costs.token_prices import token_prices

for kind in KINDS:
    registry.register(kind)

token_prices.add("list", ListedTokenPrices())
