"""Input and output of a purchase plan: the tool `planCommitmentPurchase` and its page."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta

from finops.costs.answers import AppliedPeriod
from finops.costs.spend_query import MAX_FILTERS, CostFilter
from finops.lib.answers import AccountAnswer
from finops.lib.url_query import UrlQuery


class PurchasePlanQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    discount_percent: Annotated[
        Decimal | None, Meta(description="Against on-demand prices. Default: what covered lines have.")
    ] = None


# The vendor's rule: what would have saved most in the last days. `saved`: in the back-test.
class WindowAdvice(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    days: int
    per_hour: Decimal
    saved: Decimal
    currency: str


# Savings are against on demand (doing nothing). `vendor_savings` are of the rules by 7, 30 and 60 days. null: too few days before.
class PlanMonth(msgspec.Struct, frozen=True, kw_only=True):
    month: str
    currency: str
    on_demand: Decimal
    per_hour: Decimal | None
    saving: Decimal | None
    utilization: Decimal | None
    vendor_savings: list[Decimal | None]


# Of the last 60 days: committed, covered_on_demand, on_demand, saving, utilization, coverage. `tolerated_fall`: by which share usage may
# fall until the commitment costs as much as on demand; `largest_fall`: from one of the months to the next.
class PurchasePlan(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    currency: str
    per_hour: Decimal
    covers_per_hour: Decimal
    discount_percent: Decimal
    is_discount_entered: bool
    committed: Decimal
    covered_on_demand: Decimal
    on_demand: Decimal
    saving: Decimal
    utilization: Decimal | None
    coverage: Decimal | None
    break_even_utilization: Decimal
    tolerated_fall: Decimal
    largest_fall: Decimal
    saved: Decimal
    vendor: list[WindowAdvice]
    months: list[PlanMonth]
    days_by_day: int


class PurchasePlanAnswer(AccountAnswer, frozen=True, kw_only=True):
    period: AppliedPeriod
    plans: list[PurchasePlan]
    assumptions: list[str]
    data_through: date | None
    warnings: list[str]
    hint: str
    console_url: str = ""
