"""Cost of usage at other prices: an entered price list, the account's lines in another region, the price list of
language models.

No price is invented: usage without a price has a reason, and the simulation leaves it out. Exact Decimals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from finops.costs.token_prices import TokenPrices
from finops.insights.simulation.lake import COVERED, RegionKey, SimulationSum
from finops.insights.simulation.schemas import ModelChange, OtherPrice, RegionMove
from finops.lib.money import exact_difference, exact_product, exact_sum, ratio
from finops.lib.sentences import quote

PERCENT: Final = Decimal("0.01")

COVERED_REGION: Final = "covered by a commitment that may not apply in the other region"


class NewPrice(NamedTuple):
    """The on-demand cost of a sum of lines at another price; if `cost` is None, the reason."""

    cost: Decimal | None
    reason: str = ""


@dataclass(frozen=True)
class PriceChanges:
    """The price changes of a question, in order: price list, regions, models. `units` are those of each price list
    entry."""

    prices: Sequence[OtherPrice] = ()
    regions: Sequence[RegionMove] = ()
    models: Sequence[ModelChange] = ()
    units: Mapping[tuple[int, str], frozenset[str]] = field(default_factory=dict)
    region_prices: Mapping[RegionKey, tuple[Decimal, Decimal]] = field(default_factory=dict)
    tokens: TokenPrices | None = None

    def moves_region(self, place: int) -> bool:
        return len(self.prices) <= place < len(self.prices) + len(self.regions)

    def reprice(self, each: SimulationSum, on_demand: Decimal) -> NewPrice:
        """Price a sum again. `on_demand`: its cost at current prices."""
        place = each.change
        if place < len(self.prices):
            return self._in_price_list(each, place)
        place -= len(self.prices)
        if place < len(self.regions):
            return self._in_region(each, place)
        return self._of_model(each, self.models[place - len(self.regions)], on_demand)

    def _in_price_list(self, each: SimulationSum, place: int) -> NewPrice:
        price = self.prices[place]
        if price.currency.upper() != each.currency:
            return NewPrice(None, f"whose price of {quote(price.usage_type)} is in {price.currency.upper()}")
        if each.quantity is None:
            return NewPrice(None, "without a quantity")
        if len(self.units.get((place, each.currency), ())) > 1:
            return NewPrice(None, f"of {quote(price.usage_type)}, which has several units")
        return NewPrice(exact_product(each.quantity, price.unit_price))

    def _in_region(self, each: SimulationSum, place: int) -> NewPrice:
        move = self.regions[place]
        if each.line == COVERED and not each.ends:
            return NewPrice(None, COVERED_REGION)
        if each.quantity is None:
            return NewPrice(None, "without a quantity")
        there = self.region_prices.get((place, each.currency, each.unit, each.item))
        if there is None or not each.has_one_sku:
            return NewPrice(None, f"without a price of its own lines in {quote(move.to_region)}")
        price = ratio(*there)
        if price is None:
            return NewPrice(None, "without a price")
        return NewPrice(exact_product(each.quantity, price))

    def _of_model(self, each: SimulationSum, change: ModelChange, on_demand: Decimal) -> NewPrice:
        model = change.to_model or change.model
        token_type = change.to_token_type or each.token_type
        per_unit = self.tokens.tokens_per_unit(each.unit or None) if self.tokens else None
        if not each.token_type or each.quantity is None or per_unit is None:
            return NewPrice(None, "of AI models without a number of tokens")
        price = self.tokens.price(model, token_type, each.day) if self.tokens and each.day else None
        if price is None:
            return NewPrice(None, f"without a price of {quote(token_type)} tokens of {quote(model)}")
        if price.currency != each.currency:
            return NewPrice(None, f"whose price of {quote(model)} is in {price.currency}")
        moved = exact_product(exact_product(each.quantity, per_unit), price.amount)
        share = exact_product(change.percent, PERCENT)
        stays = exact_difference(on_demand, exact_product(on_demand, share))
        return NewPrice(exact_sum([stays, exact_product(moved, share)]))


def units_of(sums: Sequence[SimulationSum]) -> dict[tuple[int, str], frozenset[str]]:
    """The units of the lines under each price change, by place and currency."""
    units: dict[tuple[int, str], set[str]] = {}
    for each in sums:
        if each.quantity is not None:
            units.setdefault((each.change, each.currency), set()).add(each.unit)
    return {key: frozenset(values) for key, values in units.items()}
