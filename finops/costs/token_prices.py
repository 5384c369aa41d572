"""Prices of language models' tokens as lower apps see them: the app that has the price list adds to `token_prices`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal
from typing import NamedTuple, Protocol

from finops.lib.registry import Registry


class TokenUnitPrice(NamedTuple):
    """What one token costs."""

    amount: Decimal
    currency: str


class TokenPrices(Protocol):
    """A price list of tokens by model and token type."""

    def price(self, model: str, token_type: str, day: date) -> TokenUnitPrice | None:
        """None where nobody published one."""

    def has_prices(self, model: str) -> bool:
        """Whether a model has any price."""

    def models(self) -> Collection[str]:
        """The models that have any price, by name."""

    def tokens_per_unit(self, unit: str | None) -> Decimal | None:
        """How many tokens a unit of a bill is; None where it does not say."""


token_prices: Registry[TokenPrices] = Registry("token price list")
"""The entry `list` is the one that is used."""
