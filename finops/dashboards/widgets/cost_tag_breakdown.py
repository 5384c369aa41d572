"""A widget of the values of a cost tag."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from finops.allocation.models import CostTag
from finops.costs.spend_query import SpendQuery, Splits
from finops.dashboards.widget_type import (
    CheckContext,
    Choices,
    CostConfig,
    ListLength,
    Name,
    Setting,
    SpendWidget,
    WidgetContext,
    name_choices,
)
from finops.lib.errors import unknown_value


class CostTagBreakdownConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    cost_tag: Annotated[Name, Meta(description="Key: listCostTags.")]
    splits: Splits = "before"
    limit: ListLength = 8


def _choices() -> Choices:
    return name_choices(CostTag.objects.values_list("key", flat=True))


class CostTagBreakdownWidget(SpendWidget[CostTagBreakdownConfig]):
    name = "cost_tag_breakdown"
    title = "Cost tag breakdown"
    description = "Cost by cost tag value, with shares."
    config = CostTagBreakdownConfig
    order, width, height = 110, 6, 5
    settings = (Setting("cost_tag", "Cost tag", "select", _choices, first="Choose…"),)

    def query(self, context: WidgetContext[CostTagBreakdownConfig]) -> SpendQuery:
        config = context.config
        return context.spend_query(group_by=[f"cost_tag:{config.cost_tag}"], limit=config.limit)

    def check(self, config: CostTagBreakdownConfig, context: CheckContext) -> None:
        keys = list(CostTag.objects.filter(account=context.account).values_list("key", flat=True))
        if config.cost_tag.strip().casefold() not in {key.casefold() for key in keys}:
            raise unknown_value("cost_tag", config.cost_tag, keys, listed_by="listCostTags")
        super().check(config, context)
