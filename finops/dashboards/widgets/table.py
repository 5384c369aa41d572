"""A widget of cost by one or two dimensions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from finops.costs.spend_query import CompareTo, SpendQuery, Splits
from finops.dashboards.widget_type import (
    CostConfig,
    Dimension,
    ListLength,
    Setting,
    SpendWidget,
    WidgetContext,
)


class TableConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    group_by: Annotated[
        list[Dimension], Meta(description="One or two dimensions; empty: service.", max_length=2)
    ] = []
    compare_to: CompareTo = "none"
    splits: Splits = "before"
    limit: ListLength = 15


class TableWidget(SpendWidget[TableConfig]):
    name = "table"
    title = "Table"
    description = "Cost by one or two dimensions, with shares and change."
    config = TableConfig
    order, width, height = 120, 12, 6
    settings = (Setting("group_by", "Group by", "dimensions"),)

    def query(self, context: WidgetContext[TableConfig]) -> SpendQuery:
        config = context.config
        groups = list(config.group_by) or ["service"]
        return context.spend_query(group_by=groups, compare_to=config.compare_to, limit=config.limit)
