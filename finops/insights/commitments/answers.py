"""The form of the answer about commitments, the same for the tool and the page."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.costs.answers import AccountRef, FilterUsed, PeriodUsed


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


class CommitmentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    account: AccountRef
    summary: str
    period: PeriodUsed
    totals: list[CommitmentTotal]
    rows: list[CommitmentRow]
    resolved_filters: list[FilterUsed]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
