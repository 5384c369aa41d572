"""The query about savings (the tool `listSavingsRecommendations`, its page), and its answer. Amounts are of 30 days."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.costs.answers import AppliedPeriod
from finops.insights.cost_scope import CostScope
from finops.lib.answers import AccountAnswer

Status = Literal["open", "dismissed", "acted", "all"]
STATUSES: tuple[Status, ...] = ("open", "dismissed", "acted", "all")

RuleName = Literal[
    "unused_commitment",
    "weekends_off",
    "previous_generation",
    "volume_type",
    "growing_storage",
    "steady_on_demand",
    "cost_optimization_hub",
    "azure_advisor",
    "google_recommender",
]


class SavingsQuery(CostScope, frozen=True, kw_only=True):
    __doc__ = None
    status: Annotated[Status, Meta(description="What became of it.")] = "open"
    rule: Annotated[RuleName | None, Meta(description="Only of this rule.")] = None
    minimum_saving: Annotated[Decimal | None, Meta(description="A month, in whole currency units.")] = None
    currency: Annotated[str, Meta(description="Default: all.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: str = ""


# cost: of these lines in the month. saving None: see saving_reason of the recommendation.
class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    resource: str
    name: str
    usage_type: str
    account: str
    region: str
    cost: Decimal
    saving: Decimal | None
    currency: str
    note: str


# What the scope cost in the 30 days before the day it was acted on and since then, for 30 days. saved = before - after;
# of an unused commitment, which is paid for either way, that is waste_avoided and no saving.
class RealisedSaving(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    before: Decimal | None
    after: Decimal | None
    saved: Decimal | None
    currency: str
    reason: str
    waste_avoided: Decimal | None = None


# An issue in GitHub, Jira or Linear. state completed: closed as done, which counts until the bills show the saving no more.
class SavingIssueLink(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    tracker: str
    state: str
    key: str = ""
    url: str = ""
    closed_at: datetime | None = None


# Of a converted recommendation, its amounts in the currency of the bill.
class BilledSaving(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    monthly_saving: Decimal | None
    monthly_waste: Decimal | None
    monthly_cost: Decimal


# service and account: of all its lines, "3 services" where there are several. monthly_waste: unused commitment, which is
# paid for already and no saving. instead_of: rules that found the same lines and do not count them. lowered: what others count instead.
class Recommendation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    rule: str
    status: str
    title: str
    advice: str
    monthly_saving: Decimal | None
    monthly_cost: Decimal
    currency: str
    monthly_waste: Decimal | None = None
    billed: BilledSaving | None = None
    effort: str
    risk: str
    risk_reason: str
    formula: str
    source: str
    provider: str
    service: str
    account: str
    services: list[str] = []
    evidence: list[Evidence]
    evidence_count: int
    saving_reason: str = ""
    instead_of: list[str] = []
    lowered: str = ""
    note: str = ""
    marked_by: str = ""
    marked_at: datetime | None = None
    acted_on: date | None = None
    realised: RealisedSaving | None = None
    issues: list[SavingIssueLink] = []


# unknown: recommendations without a provable saving. monthly_waste: of unused_commitments, paid for already and in no
# other figure of the total.
class SavingsTotal(msgspec.Struct, frozen=True, kw_only=True):
    monthly_saving: Decimal
    currency: str
    recommendations: int
    unknown: int
    monthly_waste: Decimal
    unused_commitments: int


# What clouds recommend themselves, by source: `as_of` the day of what there is, null: nothing was ever read. problem: why there is
# nothing newer, or what is missing.
class RecommendationFreshness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    source: str
    provider: str
    origin: str
    as_of: datetime | None
    recommendations: int
    incomplete: bool = False
    problem: str = ""


class SavingsAnswer(AccountAnswer, frozen=True, kw_only=True):
    period: AppliedPeriod | None
    totals: list[SavingsTotal]
    recommendations: list[Recommendation]
    total_recommendations: int
    realised: list[RealisedSaving]
    refreshes: list[RecommendationFreshness]
    data_through: date | None
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
