"""What each type of widget is configured with. Their JSON schemas go to assistants (`listWidgetTypes`), so they are terse."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.costs.spend_query import (
    DEFAULT_PERIOD,
    MAX_FILTERS,
    BasisName,
    CompareTo,
    CostFilter,
    Period,
    Splits,
)
from finops.insights.anomalies_query import StateName
from finops.insights.savings.savings_query import RuleName, Status

Bucket = Literal["day", "week", "month"]
ListLength = Annotated[int, Meta(ge=1, le=25)]
Dimension = Annotated[str, Meta(min_length=1, max_length=200)]
Filters = Annotated[list[CostFilter], Meta(max_length=MAX_FILTERS)]
Text = Annotated[str, Meta(max_length=2000)]
Name = Annotated[str, Meta(max_length=255)]


class Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The settings of a widget; all have defaults but those that say what it is of."""


class DatedConfig(Config, frozen=True, kw_only=True):
    """`period` counts where the board has no days of its own."""

    period: Period = DEFAULT_PERIOD


class CostConfig(DatedConfig, frozen=True, kw_only=True):
    """Of cost; the board's filters narrow it further."""

    filters: Filters = []
    basis: BasisName | None = None


class SpendOverTimeConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    granularity: Bucket = "day"
    group_by: Annotated[str, Meta(description="A dimension, or empty for the total.", max_length=200)] = (
        "service"
    )
    top: ListLength = 5
    splits: Splits = "before"


class SpendByConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    group_by: Annotated[Dimension, Meta(description="A dimension.")] = "service"
    top: ListLength = 8
    splits: Splits = "before"


class TotalConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    compare_to: CompareTo = "previous_period"
    splits: Splits = "before"


class TopMoversConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    group_by: Annotated[Dimension, Meta(description="A dimension.")] = "service"
    compare_to: Literal["previous_period", "previous_year"] = "previous_period"
    top: ListLength = 6


class UnitCostConfig(DatedConfig, frozen=True, kw_only=True):
    __doc__ = None
    unit_metric: Annotated[Name, Meta(description="A saved one: listUnitMetrics.")]
    filters: Filters = []
    granularity: Bucket = "week"


class BudgetStatusConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    budgets: Annotated[list[int], Meta(description="Ids, from listBudgets; empty: all.", max_length=50)] = []
    top: ListLength = 6


class AnomaliesConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    state: StateName = "open"
    search: Annotated[Name, Meta(description="Part of a service, source or cause.")] = ""
    min_impact: Annotated[Decimal | None, Meta(description="In currency.")] = None
    currency: Annotated[str, Meta(description="Needed with min_impact.", max_length=3)] = ""
    top: ListLength = 5


class SavingsConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    status: Status = "open"
    rule: RuleName | None = None
    top: ListLength = 5


class CommitmentUtilizationConfig(DatedConfig, frozen=True, kw_only=True):
    __doc__ = None
    filters: Filters = []
    by: Literal["commitment", "type"] = "commitment"
    top: ListLength = 5


class UsageConfig(DatedConfig, frozen=True, kw_only=True):
    __doc__ = None
    metric: Annotated[Name, Meta(description="Empty: the first.")] = ""
    granularity: Bucket = "day"
    group_by: Annotated[str, Meta(description="customer, dimension:<key>, or empty.", max_length=200)] = ""
    top: ListLength = 5


class CostTagBreakdownConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    cost_tag: Annotated[Name, Meta(description="Key: listCostTags.")]
    splits: Splits = "before"
    top: ListLength = 8


class TableConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    group_by: Annotated[
        list[Dimension], Meta(description="One or two dimensions; empty: service.", max_length=2)
    ] = []
    compare_to: CompareTo = "none"
    splits: Splits = "before"
    top: ListLength = 15


class TextConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    text: Annotated[Text, Meta(description="Plain; blank lines part paragraphs.")] = ""
