"""The forms of answers about unit cost, the same for tool and page. Exact Decimals; the endpoints round them.

A unit cost is None when its usage is missing, 0 or negative; then `reason` says why, beside cost and currency.
Docstrings of these types are in the OpenAPI document; comments say more.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.costs.answers import (
    AppliedComparison,
    AppliedCostView,
    AppliedFilter,
    AppliedSplit,
    PartAmount,
    Series,
)
from finops.lib.answers import AccountAnswer, AppliedPeriod

MATCHED = "matched"
NO_USAGE = "no_usage"
NO_COST = "no_cost"
UNKNOWN_CUSTOMER = "unknown_customer"
NO_CUSTOMER = "no_customer"
REST = "rest"


# `cost` None: the account has no cost data for those days.
class UnitCostBucket(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    start_date: date
    cost: Decimal | None
    currency: str
    usage: Decimal | None
    unit_cost: Decimal | None
    reason: str = ""


# A change between the compared `days`. `ratio` is relative to the earlier unit cost.
class UnitCostChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    current_unit_cost: Decimal | None
    previous_unit_cost: Decimal | None
    change: Decimal | None
    ratio: Decimal | None
    previous_cost: Decimal | None
    previous_usage: Decimal | None
    currency: str
    days: AppliedComparison | None
    reason: str = ""


# `share` and `margin` (usage - cost) where usage is money of the same currency, such as revenue.
# `cost` + `left_out_amount` is the total cost of the basis; `inside` as in SpendTotal. `unmatched_cost` is the part of
# `cost` without a known customer. `unit_cost_per_million` is set if six decimals are too few.
class UnitCostTotal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    cost: Decimal
    currency: str
    usage: Decimal | None
    unit_cost: Decimal | None
    reason: str = ""
    unit_cost_per_million: Decimal | None = None
    share: Decimal | None = None
    margin: Decimal | None = None
    unmatched_cost: Decimal | None = None
    inside: list[PartAmount] = msgspec.field(default_factory=list)
    left_out: list[PartAmount] = msgspec.field(default_factory=list)
    left_out_amount: Decimal = Decimal(0)
    change: UnitCostChange | None = None
    buckets: list[UnitCostBucket] = msgspec.field(default_factory=list)


# `customer_id` None: no known customer. `values` are the values of the customer key that the row sums up, if they differ
# from the ID. `other_rows`: number of unlisted rows that this row sums up. `series`: unit cost by the bucket's first day.
# `cost` is direct_cost + allocated_cost; shared-cost splits on the customer key allocate the latter.
class UnitCostRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """status: matched, no_usage, no_cost, unknown_customer, no_customer, rest."""

    customer_id: str | None
    name: str = ""
    status: str
    direct_cost: Decimal
    allocated_cost: Decimal
    cost: Decimal
    currency: str
    usage: Decimal | None
    unit_cost: Decimal | None
    reason: str = ""
    unit_cost_per_million: Decimal | None = None
    share: Decimal | None = None
    margin: Decimal | None = None
    values: list[str] = msgspec.field(default_factory=list)
    other_rows: int = 0
    series: Series = msgspec.field(default_factory=dict)


# The answer of `query_unit_cost`. `usage_filters_applied`: the query's usage filters, and cost filters that also filter usage;
# `unfiltered_dimensions`: dimensions of cost filters that do not filter usage. Unit costs are of `per` units.
# In mode total `rows` is empty. The rows' costs of a currency add up to its total.
class UnitCostAnswer(AccountAnswer, frozen=True, kw_only=True):
    unit_metric: str
    usage_metric: str
    aggregation: str
    unit: str | None
    per: int
    customer_key: str
    view: AppliedCostView
    period: AppliedPeriod
    totals: list[UnitCostTotal]
    rows: list[UnitCostRow]
    resolved_filters: list[AppliedFilter]
    cost_days: int
    usage_days: int
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
    applied_splits: list[AppliedSplit] = []
    usage_filters_applied: list[AppliedFilter] = []
    unfiltered_dimensions: list[str] = []


# A saved query; `filters` select the cost; empty `basis` and `charge_categories`: the account's cost view.
class UnitMetricInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    usage_metric: str
    per: int
    mode: str
    splits: str
    description: str = ""
    filters: list[AppliedFilter] = msgspec.field(default_factory=list)
    usage_filters: list[AppliedFilter] = msgspec.field(default_factory=list)
    basis: str = ""
    charge_categories: list[str] = msgspec.field(default_factory=list)


# The answer of `list_unit_metrics`.
class UnitMetricsAnswer(AccountAnswer, frozen=True, kw_only=True):
    unit_metrics: list[UnitMetricInfo]
    total_unit_metrics: int
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
