"""A widget of cost by day, week or month."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from finops.costs.charts import marked_tables, series_tables
from finops.costs.spend_query import SpendQuery, Splits
from finops.dashboards.widget_type import Bucket, CostConfig, ListLength, Setting, SpendWidget, WidgetContext


class SpendOverTimeConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    granularity: Bucket = "day"
    group_by: Annotated[str, Meta(description="A dimension, or empty for the total.", max_length=200)] = (
        "service"
    )
    limit: ListLength = 5
    splits: Splits = "before"


class SpendOverTimeWidget(SpendWidget[SpendOverTimeConfig]):
    name = "spend_over_time"
    title = "Spend over time"
    description = "Cost by day, week or month, in total or stacked by a dimension."
    config = SpendOverTimeConfig
    order, width, height = 10, 6, 5
    has_markers = True
    settings = (Setting("group_by", "Group by", "dimension", first="None (total)", may_be_empty=True),)

    def query(self, context: WidgetContext[SpendOverTimeConfig]) -> SpendQuery:
        config = context.config
        groups = [config.group_by] if config.group_by else []
        return context.spend_query(granularity=config.granularity, group_by=groups, limit=config.limit)

    def read(self, context: WidgetContext[SpendOverTimeConfig]) -> dict[str, Any]:
        data = super().read(context)
        answer = data["answer"]
        tables, markers = marked_tables(series_tables(answer), answer, context.filters)
        return {**data, "tables": tables, "markers": markers}
