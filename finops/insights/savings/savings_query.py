"""What is asked about savings: the arguments of the tool `listSavingsRecommendations`, and the URL of its page."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta

from finops.insights.cost_scope import CostScope

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
]


class SavingsQuery(CostScope, frozen=True, kw_only=True):
    __doc__ = None
    status: Status = "open"
    rule: RuleName | None = None
    min_saving: Annotated[Decimal | None, Meta(description="A month, in whole currency units.")] = None
    currency: Annotated[str, Meta(description="Only recommendations in it.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: str = ""
