"""The query about commitments (the tool `getCommitmentUtilization`, the URL of its page), and the parts of its answer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.costs.answers import AppliedFilter, AppliedPeriod
from finops.costs.spend_query import MAX_FILTERS, CostFilter, Granularity
from finops.lib.answers import AccountAnswer
from finops.lib.url_query import UrlQuery

By = Literal["commitment", "type", "none"]

OrderBy = Literal["waste", "committed_cost", "utilization", "expiry"]

DEFAULT_TOP = 25
MAX_TOP = 100


# Days are UTC, both ends inside; without any dates, the last 30 days.
class CommitmentQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[str | None, Meta(description="As in querySpend.")] = None
    group_by: Annotated[
        list[By], Meta(description="One row per value. Default: commitment.", max_length=1)
    ] = []
    granularity: Annotated[Granularity, Meta(description="Also returns totals per bucket.")] = "none"
    type: Annotated[str, Meta(description="Part of a commitment type, such as savings plan.")] = ""
    expires_before: Annotated[date | None, Meta(description="Only commitments that end before this day.")] = (
        None
    )
    order_by: Annotated[OrderBy, Meta(description="Row order.")] = "waste"
    limit: Annotated[int, Meta(description="Maximum rows.", ge=1, le=MAX_TOP)] = DEFAULT_TOP

    @property
    def by(self) -> By:
        return self.group_by[0] if self.group_by else "commitment"


# utilization = used ÷ (used + unused), in `utilization_by` (quantity or cost). on_demand_cost: the used lines at
# contracted prices. net_savings = on_demand_cost - committed_cost; commitment_savings_rate = net_savings ÷ on_demand_cost.
class Utilization(msgspec.Struct, frozen=True, kw_only=True):
    committed_cost: Decimal
    used_cost: Decimal
    unused_cost: Decimal
    currency: str
    utilization: Decimal | None
    utilization_reason: str
    utilization_by: str
    on_demand_cost: Decimal | None
    net_savings: Decimal | None
    commitment_savings_rate: Decimal | None
    commitment_savings_rate_reason: str
    commitment_savings_rate_over_list: Decimal | None


# One commitment, or all of one type. Quantities of a usage-based one are in `unit`.
class CommitmentRow(Utilization, frozen=True, kw_only=True):
    commitment: str
    name: str
    type: str
    category: str
    provider: str
    purchased_amount: Decimal
    used_quantity: Decimal | None
    unused_quantity: Decimal | None
    unit: str | None
    expires_on: date | None
    expires_reason: str
    starts_on: date | None = None
    scope: str = ""
    other_commitments: int = 0


# covered_cost and eligible_cost are at list prices.
class CommitmentBucket(msgspec.Struct, frozen=True, kw_only=True):
    start_date: date
    used_cost: Decimal
    unused_cost: Decimal
    covered_cost: Decimal | None
    eligible_cost: Decimal | None
    currency: str
    utilization: Decimal | None
    coverage: Decimal | None


# effective_savings_rate = 1 - eligible_actual_cost ÷ eligible_on_demand_cost, over all usage that a commitment could
# cover; effective_savings_rate_of: the prices it is measured at, contracted, or list where contracted ones are missing.
# eligible_by: eligibility_details (FOCUS 1.4 says line by line what a commitment could cover), services, or mixed.
class CommitmentTotal(Utilization, frozen=True, kw_only=True):
    commitments: int
    eligible_actual_cost: Decimal | None
    eligible_on_demand_cost: Decimal | None
    effective_savings_rate: Decimal | None
    effective_savings_rate_of: str
    effective_savings_rate_over_list: Decimal | None
    effective_savings_rate_reason: str
    covered_cost: Decimal | None
    eligible_cost: Decimal | None
    coverage: Decimal | None
    coverage_reason: str
    eligible_by: str
    buckets: list[CommitmentBucket]


class CommitmentAnswer(AccountAnswer, frozen=True, kw_only=True):
    period: AppliedPeriod
    totals: list[CommitmentTotal]
    rows: list[CommitmentRow]
    resolved_filters: list[AppliedFilter]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
