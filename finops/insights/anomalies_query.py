"""What is asked about anomalies: the arguments of the tool `listAnomalies`, and the URL of the Anomalies page."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta

from finops.insights.cost_scope import CostScope

StateName = Literal["open", "expected", "resolved", "all"]
STATES: tuple[StateName, ...] = ("open", "expected", "resolved", "all")


class AnomaliesQuery(CostScope, frozen=True, kw_only=True):
    __doc__ = None
    state: Annotated[StateName, Meta(description="expected: meant to be so.")] = "open"
    start_date: Annotated[date | None, Meta(description="With days from here on.")] = None
    end_date: Annotated[date | None, Meta(description="... and up to here.")] = None
    min_impact: Annotated[
        Decimal | None, Meta(description="Size of the impact, up or down, in whole currency units.")
    ] = None
    currency: Annotated[str, Meta(description="Left out: all.")] = ""
    search: Annotated[str, Meta(description="In service, source, cause, note.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: Annotated[str, Meta(description="From the answer before.")] = ""
