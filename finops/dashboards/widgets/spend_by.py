"""A widget of the values of a dimension with the highest cost."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from finops.costs.spend_query import SpendQuery, Splits
from finops.dashboards.widget_type import (
    CostConfig,
    ListLength,
    OneDimension,
    SpendWidget,
    WidgetContext,
    by_service,
)


class SpendByConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    group_by: Annotated[OneDimension, Meta(description="Default: service.")] = msgspec.field(
        default_factory=by_service
    )
    limit: ListLength = 8
    splits: Splits = "before"


class SpendByWidget(SpendWidget[SpendByConfig]):
    name = "spend_by"
    title = "Spend by"
    description = "Top values of a dimension, with shares."
    config = SpendByConfig
    order, width, height = 20, 6, 5

    def query(self, context: WidgetContext[SpendByConfig]) -> SpendQuery:
        return context.spend_query(group_by=context.config.group_by, limit=context.config.limit)
