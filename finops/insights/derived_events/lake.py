"""Lake queries for derived events: first and last days, the cost of single values, and prices. All without tax, credits
and one-time fees, in the currency of the bill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from finops.costs.dated_names import newest
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.insights.anomalies.lake import is_ordinary
from finops.insights.cost_scope import CostReader
from finops.lib.periods import DateRange

COLUMNS: Final = {"service": "service", "region": "region", "sku": "sku_id"}
"""Dimension -> column of a line."""


@dataclass(frozen=True)
class ValueKey:
    """A value of a dimension in a source."""

    source_id: int
    value: str


@dataclass(frozen=True)
class FirstDaysBuild:
    column: str

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_ordinary(table) & table[self.column].notnull() & (table.effective_cost != 0))
        selection = lines.select(source=lines.source, value=lines[self.column], day=lines.charge_date)
        return selection.group_by(["source", "value"]).aggregate(first_day=selection.day.min())


@dataclass(frozen=True)
class ValueCostsBuild:
    """By day. Without values: of everything."""

    column: str = ""
    values: tuple[str, ...] = ()

    def __call__(self, table: Any) -> Any:
        condition = is_ordinary(table)
        if self.column:
            condition &= table[self.column].isin(list(self.values))
        lines = table.filter(condition)
        value = lines[self.column] if self.column else NO_CURRENCY
        selection = lines.select(
            **({"source": lines.source, "value": value} if self.column else {}),
            currency=lines.currency.coalesce(NO_CURRENCY),
            day=lines.charge_date,
            amount=lines.effective_cost,
        )
        keys = [*(["source", "value"] if self.column else []), "currency", "day"]
        return selection.group_by(keys).aggregate(amount=selection.amount.sum())


def first_days(reader: CostReader, days: DateRange, column: str) -> dict[ValueKey, date]:
    """Of each value, the first of the days with cost. One lake query."""
    rows = reader.run(days, FirstDaysBuild(column)).to_pylist()
    return {ValueKey(int(row["source"]), row["value"]): row["first_day"] for row in rows}


DayCosts = dict[str, dict[date, Decimal]]
"""By currency and day."""


def value_costs(
    reader: CostReader, days: DateRange, column: str, values: Sequence[str]
) -> dict[ValueKey, DayCosts]:
    """One lake query, none without values."""
    if not values:
        return {}
    costs: dict[ValueKey, DayCosts] = {}
    for row in reader.run(days, ValueCostsBuild(column, tuple(values))).to_pylist():
        own = costs.setdefault(ValueKey(int(row["source"]), row["value"]), {})
        own.setdefault(row["currency"], {})[row["day"]] = row["amount"] or Decimal(0)
    return costs


def whole_costs(reader: CostReader, days: DateRange) -> DayCosts:
    """One lake query."""
    costs: DayCosts = {}
    for row in reader.run(days, ValueCostsBuild()).to_pylist():
        costs.setdefault(row["currency"], {})[row["day"]] = row["amount"] or Decimal(0)
    return costs


@dataclass(frozen=True)
class CommitmentDaysBuild:
    """Days on which a commitment was used, or paid for and not used."""

    def __call__(self, table: Any) -> Any:
        lines = table.filter(table.commitment_id.notnull() & (table.charge_category == "Usage"))
        selection = lines.select(
            "source", "commitment_id", "commitment_name", "charge_date", "effective_cost", "currency"
        )
        return selection.group_by(["source", "commitment_id", "currency"]).aggregate(
            first_day=selection.charge_date.min(),
            last_day=selection.charge_date.max(),
            cost=selection.effective_cost.sum(),
            name=newest(selection, selection.commitment_name),
        )


@dataclass(frozen=True)
class CommitmentDays:
    source_id: int
    commitment: str
    name: str
    currency: str
    first_day: date
    last_day: date
    cost: Decimal


def commitment_days(reader: CostReader, days: DateRange) -> list[CommitmentDays]:
    """One lake query."""
    return [
        CommitmentDays(
            source_id=int(row["source"]),
            commitment=row["commitment_id"],
            name=row["name"] or row["commitment_id"],
            currency=row["currency"] or NO_CURRENCY,
            first_day=row["first_day"],
            last_day=row["last_day"],
            cost=row["cost"] or Decimal(0),
        )
        for row in reader.run(days, CommitmentDaysBuild()).to_pylist()
    ]


_PRICE_KEYS: Final = ("source", "service", "region", "sku_id", "sku_price_id", "pricing_unit", "currency")


@dataclass(frozen=True)
class PricesBuild:
    """Days and cost of each list price of SKUs at standard prices; of those alone that had several."""

    def __call__(self, table: Any) -> Any:
        standard = (table.charge_category == "Usage") & (table.pricing_category == "Standard")
        priced = table.sku_id.notnull() & table.list_unit_price.notnull() & (table.list_unit_price > 0)
        lines = table.filter(standard.fill_null(False) & priced)
        selection = lines.select(
            **{name: lines[name].coalesce("") for name in _PRICE_KEYS},
            price=lines.list_unit_price,
            day=lines.charge_date,
            amount=lines.effective_cost,
        )
        several = selection.group_by(list(_PRICE_KEYS)).aggregate(
            low=selection.price.min(), high=selection.price.max()
        )
        several = several.filter(several.low < several.high)
        moved = selection.semi_join(several, list(_PRICE_KEYS))
        return moved.group_by([*_PRICE_KEYS, "price"]).aggregate(
            first_day=moved.day.min(), last_day=moved.day.max(), amount=moved.amount.sum()
        )


@dataclass(frozen=True)
class PriceDays:
    source_id: int
    service: str
    region: str
    sku: str
    price_id: str
    unit: str
    currency: str
    price: Decimal
    first_day: date
    last_day: date
    cost: Decimal

    @property
    def key(self) -> tuple[object, ...]:
        return (
            self.source_id,
            self.service,
            self.region,
            self.sku,
            self.price_id,
            self.unit,
            self.currency,
        )


def price_days(reader: CostReader, days: DateRange) -> list[PriceDays]:
    """One lake query."""
    rows = reader.run(days, PricesBuild(), allow_rollups=False).to_pylist()
    return [
        PriceDays(
            source_id=int(row["source"]),
            service=row["service"],
            region=row["region"],
            sku=row["sku_id"],
            price_id=row["sku_price_id"],
            unit=row["pricing_unit"],
            currency=row["currency"],
            price=row["price"],
            first_day=row["first_day"],
            last_day=row["last_day"],
            cost=row["amount"] or Decimal(0),
        )
        for row in rows
    ]
