"""What is asked of a simulation (the tool `simulateCost`), and what the answer is made of."""

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

Commitments = Literal["keep", "end"]


class UsageGrowth(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    percent: Annotated[Decimal, Meta(description="-100 to 10000.")]
    dimension: str = ""
    values: list[str] = []


class SimulationQuery(msgspec.Struct, frozen=True, kw_only=True):
    period: Annotated[str | None, Meta(description="As in querySpend. Default: last 30 days.")] = None
    start_date: Annotated[date | None, Meta(description="With end_date, inclusive.")] = None
    end_date: date | None = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    growth: Annotated[
        list[UsageGrowth],
        Meta(
            description="Usage growth by values; without a dimension all usage. The first that fits a line counts.",
            max_length=MAX_GROWTH,
        ),
    ] = []
    commitments: Annotated[Commitments, Meta(description="end: covered usage at contracted prices.")] = "keep"


class SimulatedTotal(msgspec.Struct, frozen=True, kw_only=True):
    """change = simulated - baseline. Both are without left_out."""

    currency: str
    baseline: Decimal
    simulated: Decimal
    change: Decimal


class SimulatedEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of a currency add up to its change."""

    assumption: str
    change: Decimal
    currency: str


class LeftOutCost(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    cost: Decimal
    currency: str


class SimulationAnswer(AccountAnswer, frozen=True, kw_only=True):
    period: AppliedPeriod
    totals: list[SimulatedTotal]
    effects: list[SimulatedEffect]
    left_out: list[LeftOutCost]
    assumptions: list[str]
    warnings: list[str]
    hint: str
    console_url: str = ""
