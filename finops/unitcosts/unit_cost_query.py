"""The query of unit cost: the arguments of the tool `queryUnitCost` and the URL of Unit economics, one type."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.costs.spend_query import (
    DEFAULT_PERIOD,
    MAX_FILTERS,
    BasisName,
    CompareTo,
    CostFilter,
    Granularity,
    SpendQuery,
    Splits,
    read_period,
)
from finops.lib.url_query import UrlQuery

Mode = Literal["total", "per_customer"]
UnitCostOrder = Literal["cost", "unit_cost", "margin"]

DEFAULT_TOP = 20
MAX_TOP = 100
MAX_CUSTOMERS = 50
MAX_PER = 10**12

Scale = Annotated[int, Meta(ge=1, le=MAX_PER)]


# As in queryUsage, without descriptions.
class UsedFilter(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    dimension: str
    values: list[str]


# A query of unit cost. Days are UTC, both ends inclusive; without dates, the last 30 days.
class UnitCostQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    unit_metric: Annotated[str, Meta(description="Saved unit metric; arguments override it.")] = ""
    usage_metric: Annotated[str, Meta(description="Pushed usage metric, the divisor.")] = ""
    mode: Annotated[Mode | None, Meta(description="per_customer: by the customer key.")] = None
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[str | None, Meta(description="As in querySpend.")] = None
    granularity: Granularity = "none"
    usage_filters: Annotated[
        list[UsedFilter],
        Meta(
            description=("Dimension key or customer. Cost filters on usage's dimensions apply too."),
            max_length=MAX_FILTERS,
        ),
    ] = []
    customers: Annotated[list[str], Meta(description="IDs or names.", max_length=MAX_CUSTOMERS)] = []
    per: Annotated[Scale | None, Meta(description="1000: cost per 1,000 units.")] = None
    basis: Annotated[BasisName | None, Meta(description="Default: the account's planning basis.")] = None
    charge_categories: Annotated[list[str], Meta(description="Default: the cost view.")] = []
    compare_to: CompareTo = "none"
    splits: Splits | None = None
    order_by: Annotated[UnitCostOrder, Meta(description="margin: revenue - cost, lowest first.")] = "cost"
    limit: Annotated[int, Meta(description="Maximum rows.", ge=1, le=MAX_TOP)] = DEFAULT_TOP

    @property
    def by_customer(self) -> bool:
        return self.mode == "per_customer"

    @property
    def units(self) -> int:
        """How many units a unit cost is of."""
        return self.per or 1


def cost_question(query: UnitCostQuery, customer_key: str) -> SpendQuery:
    """The cost that it asks for; by the customer key where one is given. Raises UserError for an unknown period."""
    default = None if query.start_date or query.end_date else DEFAULT_PERIOD
    return SpendQuery(
        start_date=query.start_date,
        end_date=query.end_date,
        period=read_period(query.period) or default,
        granularity=query.granularity,
        group_by=[customer_key] if customer_key else [],
        filters=list(query.filters),
        basis=query.basis,
        charge_categories=query.charge_categories,
        compare_to=query.compare_to,
        splits=query.splits or "before",
    )
