"""A widget of the largest increases and decreases between two periods."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from finops.dashboards.widget_type import (
    CheckContext,
    CostConfig,
    ListLength,
    OneDimension,
    Setting,
    WidgetContext,
    WidgetType,
    by_service,
    word_choices,
)
from finops.insights.charts import waterfalls
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery, spend_question

Comparison = Literal["previous_period", "previous_year"]


class TopMoversConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    group_by: Annotated[OneDimension, Meta(description="Default: service.")] = msgspec.field(
        default_factory=by_service
    )
    compare_to: Comparison = "previous_period"
    limit: ListLength = 6


class TopMoversWidget(WidgetType[TopMoversConfig]):
    name = "top_movers"
    title = "Top movers"
    description = "Largest increases and decreases between two periods."
    config = TopMoversConfig
    order, width, height = 40, 6, 5
    page = "spend_change"
    settings = (Setting("compare_to", "Compare with", "select", word_choices(get_args(Comparison))),)

    def query(self, context: WidgetContext[TopMoversConfig]) -> SpendChangeQuery:
        config = context.config
        return SpendChangeQuery(
            group_by=config.group_by,
            compare_to=config.compare_to,
            filters=context.filters,
            basis=config.basis,
            limit=config.limit,
            **context.days,
        )

    def check(self, config: TopMoversConfig, context: CheckContext) -> None:
        context.check_spend(spend_question(self.query(WidgetContext(context.account, config))))

    def read(self, context: WidgetContext[TopMoversConfig]) -> dict[str, Any]:
        query = self.query(context)
        answer = explain_spend_change(context.account, query, deadline=context.deadline)
        return {"answer": answer, "waterfalls": waterfalls(answer), "params": query.to_params()}
