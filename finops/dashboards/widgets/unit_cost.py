"""A widget of a saved unit metric."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from finops.costs.spend_query import SpendQuery
from finops.dashboards.widget_type import (
    Bucket,
    CheckContext,
    Choices,
    DatedConfig,
    Filters,
    Name,
    Setting,
    WidgetContext,
    WidgetType,
    name_choices,
)
from finops.unitcosts.charts import trends, with_trend_markers
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.queries.cards import per_unit
from finops.unitcosts.queries.unit_metrics import find_unit_metric
from finops.unitcosts.saved_question import merge_question
from finops.unitcosts.unit_cost_query import UnitCostQuery


class UnitCostConfig(DatedConfig, frozen=True, kw_only=True):
    __doc__ = None
    unit_metric: Annotated[Name, Meta(description="A saved one: listUnitMetrics.")]
    filters: Filters = []
    granularity: Bucket = "week"


def _choices() -> Choices:
    return name_choices(UnitMetric.objects.values_list("name", flat=True))


class UnitCostWidget(WidgetType[UnitCostConfig]):
    name = "unit_cost"
    title = "Unit cost"
    description = "A saved unit metric: its unit cost, trend and change."
    config = UnitCostConfig
    order, width, height = 50, 4, 4
    page = "unit_economics"
    has_markers = True
    settings = (Setting("unit_metric", "Unit metric", "select", _choices, first="Choose…"),)

    def check(self, config: UnitCostConfig, context: CheckContext) -> None:
        find_unit_metric(context.account, config.unit_metric)
        context.check_spend(SpendQuery(filters=list(config.filters)))

    def read(self, context: WidgetContext[UnitCostConfig]) -> dict[str, Any]:
        query = UnitCostQuery(
            unit_metric=context.config.unit_metric,
            granularity=context.config.granularity,
            compare_to="previous_period",
            filters=context.filters,
            **context.days,
        )
        answer = query_unit_cost(context.account, query, deadline=context.deadline)
        unit_trends = trends(answer, query.granularity, answer.unit or answer.usage_metric)
        saved = find_unit_metric(context.account, context.config.unit_metric)
        unit_trends, markers = with_trend_markers(unit_trends, answer, merge_question(saved, query)[0])
        return {
            "answer": answer,
            "trends": unit_trends,
            "markers": markers,
            "per_unit": per_unit(answer.per, answer.unit, answer.usage_metric),
            "params": query.to_params(),
        }
