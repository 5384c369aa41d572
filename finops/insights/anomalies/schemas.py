"""The query about anomalies (the tool `listAnomalies`, the URL of the page), and the parts of its answer.

Docstrings of these types are in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.change_events.schemas import ChangeCandidate
from finops.costs.answers import MoneyAmount
from finops.insights.cost_scope import CostScope
from finops.lib.answers import AccountAnswer

StateName = Literal["open", "expected", "resolved", "all"]
STATES: tuple[StateName, ...] = ("open", "expected", "resolved", "all")


class AnomaliesQuery(CostScope, frozen=True, kw_only=True):
    __doc__ = None
    status: Annotated[StateName, Meta(description="expected: intended spend.")] = "open"
    start_date: date | None = None
    end_date: date | None = None
    minimum_impact: Annotated[Decimal | None, Meta(description="Up or down, in whole currency units.")] = None
    currency: Annotated[str, Meta(description="Default: all.")] = ""
    search: Annotated[str, Meta(description="In service, source, cause and note.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    cursor: str = ""


class RootCause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """share: of the impact."""

    dimension: str
    value: str
    impact: Decimal
    currency: str
    share: Decimal | None
    name: str = ""


# Of a converted anomaly, its amounts in the currency that it was found in.
class OwnImpact(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    actual: Decimal
    expected: Decimal
    impact: Decimal
    month_end_impact: Decimal


# Amounts of all days from the first to the last. `expected_low` and `expected_high` are the band, added up over them.
class AnomalyRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """title: by root cause. impact: actual - expected so far; month_end_impact: when its month ends."""

    id: str
    state: str
    kind: str
    severity: str
    source: str
    dimension: str
    value: str
    first_day: date
    last_day: date
    ongoing: bool
    actual: Decimal
    expected: Decimal
    expected_low: Decimal
    expected_high: Decimal
    impact: Decimal
    month_end_impact: Decimal
    currency: str
    root_causes: list[RootCause]
    title: str
    name: str = ""
    note: str = ""
    marked_by: str = ""
    also_seen_as: list[str] = []
    impact_in_scope: Decimal | None = None
    own_amounts: OwnImpact | None = None
    candidates: list[ChangeCandidate] = []


class AnomaliesAnswer(AccountAnswer, frozen=True, kw_only=True):
    """Worst first."""

    anomalies: list[AnomalyRow]
    total_anomalies: int
    smallest_impacts: list[MoneyAmount]
    looked_at: datetime | None
    data_through: date | None
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
