"""The query of a simulation (the tool `simulateCost`, the page Cost simulation), and the parts of its answer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.costs.answers import AppliedPeriod
from finops.costs.spend_query import MAX_FILTERS, CostFilter
from finops.lib.answers import AccountAnswer

MAX_GROWTH = 10
MAX_PURCHASES = 5
MAX_PRICES = 100
MAX_MODELS = 20

Commitments = Literal["keep", "end"]


# By percent, or as a metric of usage would grow to a quantity in these days.
class UsageGrowth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    percent: Annotated[Decimal | None, Meta(description="-100 to 10000.")] = None
    dimension: str = ""
    values: list[str] = []
    usage_metric: Annotated[str, Meta(description="Grows as this metric to quantity.")] = ""
    quantity: Annotated[Decimal | None, Meta(description="Of usage_metric.")] = None


class Purchase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    per_hour: Annotated[Decimal, Meta(description="Committed amount.")]
    discount_percent: Annotated[Decimal | None, Meta(description="Default: what the covered lines have.")] = (
        None
    )
    currency: str = ""
    dimension: str = ""
    values: list[str] = []


class OtherPrice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    usage_type: Annotated[str, Meta(description="As billed.")]
    unit_price: Annotated[Decimal, Meta(description="Of one unit.")]
    currency: str


class RegionMove(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    region: Annotated[str, Meta(description="From.")]
    to_region: Annotated[str, Meta(description="To.")]


class ModelChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    model: Annotated[str, Meta(description="From.")]
    to_model: Annotated[str, Meta(description="To.")] = ""
    token_type: Annotated[str, Meta(description="Default: all.")] = ""
    to_token_type: Annotated[str, Meta(description="Default: the same.")] = ""
    percent: Annotated[Decimal, Meta(description="Of the tokens.")] = Decimal(100)


class SimulationQuery(msgspec.Struct, frozen=True, kw_only=True):
    period: Annotated[str | None, Meta(description="As in querySpend. Default: last 30 days.")] = None
    start_date: date | None = None
    end_date: date | None = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    growth: Annotated[
        list[UsageGrowth],
        Meta(
            description="Usage growth by values; without a dimension all usage.",
            max_length=MAX_GROWTH,
        ),
    ] = []
    commitments: Annotated[Commitments, Meta(description="end: covered usage at contracted prices.")] = "keep"
    ending: Annotated[list[str], Meta(description="Only these commitments end.", max_length=MAX_PRICES)] = []
    purchases: Annotated[
        list[Purchase], Meta(description="Commitments bought, by hour.", max_length=MAX_PURCHASES)
    ] = []
    prices: Annotated[list[OtherPrice], Meta(description="A price list.", max_length=MAX_PRICES)] = []
    regions: Annotated[
        list[RegionMove], Meta(description="At own lines' prices there.", max_length=MAX_MODELS)
    ] = []
    models: Annotated[
        list[ModelChange],
        Meta(description="Percent of tokens to other ai_model values.", max_length=MAX_MODELS),
    ] = []


class SimulatedTotal(msgspec.Struct, frozen=True, kw_only=True):
    """change = simulated - baseline. Both are without left_out."""

    currency: str
    baseline: Decimal
    simulated: Decimal
    change: Decimal


# The effects of a currency add up to its change.
class SimulatedEffect(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    assumption: str
    change: Decimal
    currency: str


class LeftOutCost(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    cost: Decimal
    currency: str


# committed - covered_on_demand is the change. utilization below break_even_utilization costs more than on demand.
class PurchaseResult(msgspec.Struct, frozen=True, kw_only=True):
    assumption: str
    currency: str
    committed: Decimal
    covered_on_demand: Decimal
    eligible_on_demand: Decimal
    discount_percent: Decimal
    utilization: Decimal | None
    break_even_utilization: Decimal
    coverage: Decimal | None
    days_by_hour: int
    days_by_day: int


class SimulationAnswer(AccountAnswer, frozen=True, kw_only=True):
    period: AppliedPeriod
    totals: list[SimulatedTotal]
    effects: list[SimulatedEffect]
    purchases: list[PurchaseResult]
    left_out: list[LeftOutCost]
    assumptions: list[str]
    warnings: list[str]
    hint: str
    console_url: str = ""
