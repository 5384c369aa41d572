"""A widget of cost by day, week or month."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from finops.costs.charts import marked_tables, series_tables
from finops.costs.spend_query import SpendQuery, Splits
from finops.dashboards.widget_type import (
    Bucket,
    CostConfig,
    Dimensions,
    ListLength,
    Setting,
    SpendWidget,
    WidgetContext,
    by_service,
)


class SpendOverTimeConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    granularity: Bucket = "day"
    group_by: Annotated[Dimensions, Meta(description="Empty: the total. Default: service.")] = msgspec.field(
        default_factory=by_service
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
        return context.spend_query(
            granularity=config.granularity, group_by=config.group_by, limit=config.limit
        )

    def read(self, context: WidgetContext[SpendOverTimeConfig]) -> dict[str, Any]:
        data = super().read(context)
        answer = data["answer"]
        tables, markers = marked_tables(series_tables(answer), answer, context.filters)
        return {**data, "tables": tables, "markers": markers}
