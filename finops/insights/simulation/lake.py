"""Lake expressions of a simulation: sums by the assumptions that apply to a line. Pure: only the engine runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

import ibis
import pyarrow as pa

from finops.costs.dimensions import Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import NO_CURRENCY, is_incomplete

USAGE: Final = "usage"
COVERED: Final = "covered"
"""Usage paid for by a commitment."""
UNUSED: Final = "unused"
FIXED: Final = "fixed"
"""Fees, taxes, credits and adjustments."""

NO_RULE: Final = -1
LONG_HOURS: Final = 48
"""A line with a charge period of this length does not show when its usage took place."""

MONEY_TYPE: Final = "decimal(38, 18)"

Scope = tuple[ResolvedFilter, ...]
"""Filters that a line must all match; empty: all lines."""

_REGION_FREE: Final = r"^[A-Z]{2,4}[0-9]?-"
"""The region prefix of AWS usage types outside us-east-1: EUC1-BoxUsage:m5.large."""
_RUNNING_IN: Final = r" running in .+$"
"""The region suffix of Google Cloud SKUs."""


@dataclass(frozen=True)
class SimulationBuild:
    """Amortized cost, contracted cost and quantity by currency, kind of line, and the assumptions that apply to a
    line: of each kind the first that matches. By hour or day only where a purchase could cover it, by item only where
    its region changes. Equal for equal questions, so that the lake compiles each once."""

    filters: Scope
    growth: tuple[Scope, ...]
    incomplete: tuple[tuple[int, date], ...]
    ending: Scope | None = None
    """None: commitments stay."""
    purchases: tuple[Scope, ...] = ()
    prices: tuple[Scope, ...] = ()
    regions: tuple[Scope, ...] = ()
    models: tuple[Scope, ...] = ()
    token_type: Dimension | None = None
    """The token type dimension, if models change."""

    @property
    def tag_keys(self) -> list[str]:
        scopes = [self.filters, self.ending or (), *self.growth, *self.purchases, *self.price_changes]
        keys = [key for scope in scopes for item in scope for key in item.dimension.tag_keys]
        return list(dict.fromkeys([*keys, *(self.token_type.tag_keys if self.token_type else ())]))

    @property
    def price_changes(self) -> tuple[Scope, ...]:
        return (*self.prices, *self.regions, *self.models)

    def __call__(self, table: Any) -> Any:
        conditions = all_of(table, self.filters)
        lines = table.filter(reduce(and_, conditions)) if conditions else table
        late: Any = is_incomplete(lines, self.incomplete) if self.incomplete else ibis.literal(False)
        line, change = kind_of(lines), _place_of(lines, self.price_changes)
        purchase = self._purchase_of(lines, line)
        first_region, first_model = len(self.prices), len(self.prices) + len(self.regions)
        in_region = (change >= first_region) & (change < first_model)
        by_tokens = change >= first_model
        has_quantity = lines.pricing_quantity.notnull() & ~by_tokens
        quantity = ibis.ifelse(has_quantity, lines.pricing_quantity, lines.consumed_quantity)
        unit = ibis.ifelse(has_quantity, lines.pricing_unit, lines.consumed_unit)
        keyed = lines.select(
            currency=lines.currency.coalesce(NO_CURRENCY),
            line=line,
            rule=_place_of(lines, self.growth),
            ends=_all(lines, self.ending) if self.ending is not None else ibis.literal(False),
            has_price=lines.contracted_cost.notnull(),
            purchase=purchase,
            day=_where((purchase != NO_RULE) | by_tokens, lines.charge_date, "date"),
            hour=_where((purchase != NO_RULE) & is_hourly(lines), hour_of(lines), "timestamp('UTC')"),
            change=change,
            token_type=self._token_type_of(lines, by_tokens),
            has_quantity=quantity.notnull(),
            unit=_where(change != NO_RULE, unit, "string"),
            **item_columns(lines, in_region),
            cost=lines.effective_cost,
            contracted=lines.contracted_cost,
            quantity=_where(change != NO_RULE, quantity, MONEY_TYPE),
            sku=lines.sku_id,
            late=ibis.ifelse(late, lines.effective_cost, ibis.literal(Decimal(0), type=MONEY_TYPE)),
        )
        amounts = {"cost", "contracted", "quantity", "late", "sku"}
        return keyed.group_by([name for name in keyed.columns if name not in amounts]).aggregate(
            cost=keyed.cost.sum(),
            contracted=keyed.contracted.sum(),
            quantity=keyed.quantity.sum(),
            late=keyed.late.sum(),
            first_sku=keyed.sku.min(),
            last_sku=keyed.sku.max(),
        )

    def _purchase_of(self, lines: Any, line: Any) -> Any:
        if not self.purchases:
            return ibis.literal(NO_RULE)
        return ibis.ifelse(is_coverable(lines, line), _place_of(lines, self.purchases), NO_RULE)

    def _token_type_of(self, lines: Any, by_tokens: Any) -> Any:
        if self.token_type is None:
            return ibis.null("string")
        return _where(by_tokens, self.token_type.value(lines), "string")


@dataclass(frozen=True)
class RegionPriceBuild:
    """Cost of usage at standard and other prices by region and item. Equal for equal regions."""

    regions: tuple[Scope, ...]

    @property
    def tag_keys(self) -> list[str]:
        return [key for scope in self.regions for item in scope for key in item.dimension.tag_keys]

    def __call__(self, table: Any) -> Any:
        place = _place_of(table, self.regions)
        lines = table.filter((kind_of(table) == USAGE) & (place != NO_RULE))
        has_quantity = lines.pricing_quantity.notnull()
        keyed = lines.select(
            place=_place_of(lines, self.regions),
            currency=lines.currency.coalesce(NO_CURRENCY),
            unit=ibis.ifelse(has_quantity, lines.pricing_unit, lines.consumed_unit),
            **item_columns(lines, ibis.literal(True)),
            cost=lines.effective_cost,
            quantity=ibis.ifelse(has_quantity, lines.pricing_quantity, lines.consumed_quantity),
            sku=lines.sku_id,
        )
        amounts = {"cost", "quantity", "sku"}
        return keyed.group_by([name for name in keyed.columns if name not in amounts]).aggregate(
            cost=keyed.cost.sum(),
            quantity=keyed.quantity.sum(),
            first_sku=keyed.sku.min(),
            last_sku=keyed.sku.max(),
        )


ITEM_COLUMNS: Final = ("provider", "service", "item", "category")
"""Columns that are equal for the same item in two regions."""


def item_columns(lines: Any, condition: Any) -> dict[str, Any]:
    usage_type = lines.usage_type.re_replace(_REGION_FREE, "").re_replace(_RUNNING_IN, "")
    values = (lines.provider, lines.service, usage_type, lines.pricing_category)
    return {
        name: _where(condition, value, "string") for name, value in zip(ITEM_COLUMNS, values, strict=True)
    }


def is_coverable(lines: Any, line: Any) -> Any:
    """Usage at standard prices, or under a commitment that may end, with a period short enough to tell when it took
    place."""
    is_long = lines.charge_period_end > lines.charge_period_start + ibis.interval(hours=LONG_HOURS)
    is_standard = (line == USAGE) & (lines.pricing_category == "Standard").fill_null(False)
    return (is_standard | (line == COVERED)) & ~is_long.fill_null(False)


def is_hourly(lines: Any) -> Any:
    return (lines.charge_period_end <= lines.charge_period_start + ibis.interval(hours=1)).fill_null(False)


def hour_of(lines: Any) -> Any:
    return lines.charge_period_start.truncate("h")


def _where(condition: Any, value: Any, kind: str) -> Any:
    return ibis.ifelse(condition, value, ibis.null(kind))


def kind_of(lines: Any) -> Any:
    return ibis.cases(
        ((lines.charge_category != "Usage").fill_null(True), FIXED),
        (lines.commitment_status == "Unused", UNUSED),
        (lines.commitment_status == "Used", COVERED),
        else_=USAGE,
    )


def _all(lines: Any, scope: Scope) -> Any:
    if not scope:
        return ibis.literal(True)
    return reduce(and_, [item.condition(lines).fill_null(False) for item in scope])


def _place_of(lines: Any, scopes: Sequence[Scope]) -> Any:
    """The place of the first scope that a line matches."""
    conditions = [(_all(lines, scope), place) for place, scope in enumerate(scopes)]
    return ibis.cases(*conditions, else_=NO_RULE) if conditions else ibis.literal(NO_RULE)


@dataclass(frozen=True)
class SimulationSum:
    """A sum of lines of one kind. `contracted` and `quantity` are None if the lines have none. `day` and `hour` are
    set only where requested; `hour` is None for daily lines. `item` identifies the same item in another region."""

    currency: str
    line: str
    rule: int
    cost: Decimal
    contracted: Decimal | None
    late: Decimal
    ends: bool = False
    purchase: int = NO_RULE
    day: date | None = None
    hour: datetime | None = None
    change: int = NO_RULE
    token_type: str = ""
    unit: str = ""
    quantity: Decimal | None = None
    item: tuple[str, ...] = ()
    has_one_sku: bool = True


def read_sums(table: pa.Table) -> list[SimulationSum]:
    return [
        SimulationSum(
            currency=row["currency"],
            line=row["line"],
            rule=row["rule"],
            cost=row["cost"] or Decimal(0),
            contracted=row["contracted"] if row["has_price"] else None,
            late=row["late"] or Decimal(0),
            ends=row["ends"],
            purchase=row["purchase"],
            day=row["day"],
            hour=row["hour"],
            change=row["change"],
            token_type=row["token_type"] or "",
            unit=row["unit"] or "",
            quantity=row["quantity"] if row["has_quantity"] else None,
            item=_item(row),
            has_one_sku=row["first_sku"] == row["last_sku"],
        )
        for row in table.to_pylist()
    ]


def _item(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] or "" for name in ITEM_COLUMNS)


RegionKey = tuple[int, str, str, tuple[str, ...]]
"""Place of the region change, currency, unit and item."""


def read_region_prices(table: pa.Table) -> dict[RegionKey, tuple[Decimal, Decimal]]:
    """Cost and quantity of each item that has both and is a single SKU."""
    return {
        (row["place"], row["currency"], row["unit"] or "", _item(row)): (row["cost"], row["quantity"])
        for row in table.to_pylist()
        if row["quantity"] and row["cost"] is not None and row["first_sku"] == row["last_sku"]
    }
