"""Prices of language models' tokens for lower apps. The app that has the price list registers in `token_prices`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal
from typing import NamedTuple, Protocol

from finops.lib.registry import Registry


class TokenUnitPrice(NamedTuple):
    """The price of one token."""

    amount: Decimal
    currency: str


class TokenPrices(Protocol):
    """A price list of tokens by model and token type."""

    def price(self, model: str, token_type: str, day: date) -> TokenUnitPrice | None:
        """Return the price; None if none is published."""

    def has_prices(self, model: str) -> bool:
        """Return whether a model has any price."""

    def models(self) -> Collection[str]:
        """The models that have any price, by name."""

    def tokens_per_unit(self, unit: str | None) -> Decimal | None:
        """Return the number of tokens in a unit of a bill; None if the unit does not say."""


token_prices: Registry[TokenPrices] = Registry("token price list")
"""Only the entry `list` is used."""
