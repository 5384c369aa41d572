"""A widget of the utilization of commitments."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from finops.costs.spend_query import SpendQuery
from finops.dashboards.widget_type import (
    CheckContext,
    DatedConfig,
    Filters,
    ListLength,
    Setting,
    WidgetContext,
    WidgetType,
    word_choices,
)
from finops.insights.commitments.queries import commitment_utilization
from finops.insights.commitments.schemas import CommitmentQuery

Grouping = Literal["commitment", "type"]


class CommitmentUtilizationConfig(DatedConfig, frozen=True, kw_only=True):
    __doc__ = None
    filters: Filters = []
    group_by: Annotated[list[Grouping], Meta(description="Default: commitment.", max_length=1)] = []
    limit: ListLength = 5


class CommitmentUtilizationWidget(WidgetType[CommitmentUtilizationConfig]):
    name = "commitment_utilization"
    title = "Commitment utilization"
    description = (
        "Utilization and coverage of commitments, effective savings rate, and the most wasteful ones."
    )
    config = CommitmentUtilizationConfig
    order, width, height = 90, 6, 5
    page = "commitments"
    settings = (Setting("group_by", "Group by", "select", word_choices(get_args(Grouping))),)

    def check(self, config: CommitmentUtilizationConfig, context: CheckContext) -> None:
        context.check_spend(SpendQuery(filters=list(config.filters)))

    def read(self, context: WidgetContext[CommitmentUtilizationConfig]) -> dict[str, Any]:
        config = context.config
        query = CommitmentQuery(
            group_by=[*config.group_by], limit=config.limit, filters=context.filters, **context.days
        )
        answer = commitment_utilization(context.account, query, deadline=context.deadline)
        return {"answer": answer, "params": query.to_params(), "by": query.by}
