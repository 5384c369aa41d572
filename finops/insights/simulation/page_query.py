"""The question of the page Cost simulation: one assumption of each kind, as form fields."""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import structs

from finops.costs.spend_query import CostFilter, read_period
from finops.insights.simulation.schemas import (
    MAX_PRICES,
    Commitments,
    ModelChange,
    OtherPrice,
    Purchase,
    RegionMove,
    SimulationQuery,
    UsageGrowth,
)
from finops.lib.errors import UserError
from finops.lib.periods import Period
from finops.lib.url_query import UrlQuery


class SimulationPageQuery(UrlQuery, frozen=True, kw_only=True):
    """An empty field makes no assumption. `price_list` has one line `usage type, price, currency` for each price;
    `ending` is one commitment."""

    filters: list[CostFilter] = []
    period: Period | None = None
    start_date: date | None = None
    end_date: date | None = None
    growth_percent: Decimal | None = None
    growth_dimension: str = ""
    growth_value: str = ""
    growth_metric: str = ""
    growth_quantity: Decimal | None = None
    commitments: Commitments = "keep"
    ending: str = ""
    per_hour: Decimal | None = None
    discount_percent: Decimal | None = None
    purchase_currency: str = ""
    purchase_dimension: str = ""
    purchase_value: str = ""
    region: str = ""
    to_region: str = ""
    model: str = ""
    to_model: str = ""
    token_type: str = ""
    to_token_type: str = ""
    model_percent: Decimal = Decimal(100)
    price_list: str = ""

    def simulation(self) -> SimulationQuery:
        """The arguments of `simulateCost`. Raises UserError for an incomplete assumption."""
        return SimulationQuery(
            filters=self.filters,
            period=self.period,
            start_date=self.start_date,
            end_date=self.end_date,
            growth=self._growth(),
            commitments=self.commitments,
            ending=[self.ending] if self.ending else [],
            purchases=self._purchases(),
            prices=prices_of(self.price_list),
            regions=self._regions(),
            models=self._models(),
        )

    def _growth(self) -> list[UsageGrowth]:
        if self.growth_percent is None and not self.growth_metric:
            return []
        return [
            UsageGrowth(
                percent=self.growth_percent,
                usage_metric=self.growth_metric,
                quantity=self.growth_quantity,
                dimension=self.growth_dimension if self.growth_value else "",
                values=[self.growth_value] if self.growth_value else [],
            )
        ]

    def _purchases(self) -> list[Purchase]:
        if self.per_hour is None:
            return []
        return [
            Purchase(
                per_hour=self.per_hour,
                discount_percent=self.discount_percent,
                currency=self.purchase_currency,
                dimension=self.purchase_dimension if self.purchase_value else "",
                values=[self.purchase_value] if self.purchase_value else [],
            )
        ]

    def _regions(self) -> list[RegionMove]:
        if bool(self.region) != bool(self.to_region):
            raise UserError("Enter both regions, or neither.", field="to_region")
        return [RegionMove(region=self.region, to_region=self.to_region)] if self.region else []

    def _models(self) -> list[ModelChange]:
        if not self.model:
            return []
        return [
            ModelChange(
                model=self.model,
                to_model=self.to_model,
                token_type=self.token_type,
                to_token_type=self.to_token_type,
                percent=self.model_percent,
            )
        ]


def prices_of(text: str) -> list[OtherPrice]:
    """Parse the lines of a price list. Raises UserError with the invalid line."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_PRICES:
        raise UserError(f"Price list: {len(lines)} lines; the maximum is {MAX_PRICES}.", field="price_list")
    return [_price(number, line) for number, line in enumerate(lines, start=1)]


def _price(number: int, line: str) -> OtherPrice:
    cells = [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    try:
        usage_type, amount, currency = cells
        return OtherPrice(usage_type=usage_type, unit_price=Decimal(amount), currency=currency)
    except (ValueError, InvalidOperation) as error:
        raise UserError(
            f"Price list, line {number}: write usage type, price per unit and currency, such as BoxUsage:m5.large, 0.08, USD.",
            field="price_list",
        ) from error


def page_params(query: SimulationQuery) -> dict[str, list[str]]:
    """The URL parameters for the same question on the page; only days and filters if the page cannot express all of
    it."""
    days = SimulationPageQuery(
        filters=query.filters,
        period=read_period(query.period),
        start_date=query.start_date,
        end_date=query.end_date,
    )
    whole = structs.replace(
        days,
        **_growth_fields(query),
        **_purchase_fields(query),
        **_price_fields(query),
        commitments=query.commitments,
        ending=next(iter(query.ending), ""),
    )
    try:
        is_same = whole.simulation() == structs.replace(query, period=days.period)
    except UserError:
        is_same = False
    return (whole if is_same else days).to_params()


def _growth_fields(query: SimulationQuery) -> dict[str, Any]:
    for each in query.growth:
        return {
            "growth_percent": each.percent,
            "growth_metric": each.usage_metric,
            "growth_quantity": each.quantity,
            "growth_dimension": each.dimension,
            "growth_value": next(iter(each.values), ""),
        }
    return {}


def _purchase_fields(query: SimulationQuery) -> dict[str, Any]:
    for each in query.purchases:
        return {
            "per_hour": each.per_hour,
            "discount_percent": each.discount_percent,
            "purchase_currency": each.currency,
            "purchase_dimension": each.dimension,
            "purchase_value": next(iter(each.values), ""),
        }
    return {}


def _price_fields(query: SimulationQuery) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for move in query.regions[:1]:
        fields |= {"region": move.region, "to_region": move.to_region}
    for change in query.models[:1]:
        fields |= {
            "model": change.model,
            "to_model": change.to_model,
            "token_type": change.token_type,
            "to_token_type": change.to_token_type,
            "model_percent": change.percent,
        }
    return fields
