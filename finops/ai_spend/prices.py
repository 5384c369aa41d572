"""Token prices by model, token type and day: the checked-in list of public prices, and the account's own, which take
precedence."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from finops.ai_spend.naming import model_keys

LIST_FILE: Final = Path(__file__).parent / "data" / "prices.csv"


@dataclass(frozen=True)
class TokenPrice:
    """The price of a million tokens on the days from `valid_from` to `valid_to`, inclusive; None: no end.

    `source` is where the price is published, `read_on` when it was read there; both are empty for an account's own
    price.
    """

    vendor: str
    model: str
    token_type: str
    price_per_million: Decimal
    currency: str
    valid_from: date | None = None
    valid_to: date | None = None
    source: str = ""
    read_on: date | None = None
    is_own: bool = False

    def is_valid_on(self, day: date) -> bool:
        return (self.valid_from or date.min) <= day <= (self.valid_to or date.max)


@dataclass(frozen=True)
class PriceList:
    """A price list for lookups. The account's own prices take precedence over public ones."""

    prices: Sequence[TokenPrice]

    @cached_property
    def _by_key(self) -> Mapping[tuple[str, str], Sequence[TokenPrice]]:
        by_key: dict[tuple[str, str], list[TokenPrice]] = defaultdict(list)
        for price in sorted(self.prices, key=lambda each: not each.is_own):
            # As it is written: an id with the date of its snapshot has a price of its own.
            by_key[model_keys(price.model)[0], price.token_type].append(price)
        return by_key

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {model_keys(price.model)[0]: price.model for price in self.prices}

    @cached_property
    def _vendors(self) -> Mapping[str, str]:
        return {model_keys(price.model)[0]: price.vendor for price in self.prices}

    @cached_property
    def has_own(self) -> bool:
        """Whether the account has prices of its own."""
        return any(price.is_own for price in self.prices)

    @property
    def read_on(self) -> date | None:
        """The day on which the newest price of the list was read."""
        return max((price.read_on for price in self.prices if price.read_on), default=None)

    def find(self, model: str, token_type: str, day: date) -> TokenPrice | None:
        """The price of a model's tokens on a day; None if there is no published price."""
        for key in model_keys(model):
            for price in self._by_key.get((key, token_type), ()):
                if price.is_valid_on(day):
                    return price
        return None

    def model_name(self, model: str) -> str:
        """The display name of a model: from the list, or else the given name without the date of its snapshot."""
        keys = model_keys(model)
        return next((self._names[key] for key in keys if key in self._names), keys[-1])

    def vendor_of(self, model: str) -> str:
        """The vendor of a model in the list; empty for other models."""
        return next((self._vendors[key] for key in model_keys(model) if key in self._vendors), "")

    def with_own(self, own: Iterable[TokenPrice]) -> PriceList:
        return PriceList([*own, *self.prices])


@lru_cache(1)
def list_prices() -> PriceList:
    """The public prices of `data/prices.csv`."""
    with LIST_FILE.open(newline="", encoding="utf-8") as file:
        return PriceList([_price(row) for row in csv.DictReader(file)])


def _price(row: Mapping[str, str]) -> TokenPrice:
    return TokenPrice(
        vendor=row["vendor"],
        model=row["model"],
        token_type=row["token_type"],
        price_per_million=Decimal(row["price_per_million"]),
        currency=row["currency"],
        valid_from=_day(row["valid_from"]),
        valid_to=_day(row["valid_to"]),
        source=row["source"],
        read_on=_day(row["read_on"]),
    )


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None
