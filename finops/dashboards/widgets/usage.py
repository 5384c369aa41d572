"""A widget of a usage metric over time."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from finops.dashboards.widget_type import (
    Bucket,
    CheckContext,
    Choices,
    DatedConfig,
    Dimensions,
    ListLength,
    Name,
    Setting,
    WidgetContext,
    WidgetType,
    name_choices,
)
from finops.lib.errors import UserError
from ingestion.charts import marked_usage, usage_days, usage_table
from ingestion.models import UsageMetric
from ingestion.queries import find_metric, metrics_of, query_usage
from ingestion.usage_query import UsageQuery


class UsageConfig(DatedConfig, frozen=True, kw_only=True):
    __doc__ = None
    usage_metric: Annotated[Name, Meta(description="Empty: the first.")] = ""
    granularity: Bucket = "day"
    group_by: Annotated[Dimensions, Meta(description="customer, or dimension:<key>.")] = []
    limit: ListLength = 5


def _choices() -> Choices:
    return name_choices(UsageMetric.objects.values_list("name", flat=True))


class UsageWidget(WidgetType[UsageConfig]):
    name = "usage"
    title = "Usage"
    description = "A usage metric, in total or by customer or dimension."
    config = UsageConfig
    order, width, height = 100, 6, 5
    page = "usage"
    has_markers = True
    settings = (
        Setting("usage_metric", "Usage metric", "select", _choices, first="The first", may_be_empty=True),
        Setting("group_by", "Group by", help="customer, dimension:region …, or nothing.", may_be_empty=True),
    )

    def check(self, config: UsageConfig, context: CheckContext) -> None:
        """Check the settings. Raises UserError for a metric that the account does not have, and for a dimension that
        usage does not have."""
        metrics = metrics_of(context.account) if config.usage_metric else []
        if config.usage_metric and (metrics or not context.plans_ahead):
            find_metric(metrics, config.usage_metric)
        for group in config.group_by:
            if group != "customer" and not (group.startswith("dimension:") and group != "dimension:"):
                raise UserError(
                    f"group_by: {group[:60]!r} is not valid. Use customer, dimension:<key>, or empty.",
                    field="group_by",
                    value=group,
                )

    def read(self, context: WidgetContext[UsageConfig]) -> dict[str, Any]:
        config = context.config
        query = UsageQuery(
            usage_metric=config.usage_metric,
            granularity=config.granularity,
            group_by=config.group_by,
            limit=config.limit,
            **context.days,
        )
        answer = query_usage(context.account, query, deadline=context.deadline)
        (table,), markers = marked_usage([usage_table(answer)], usage_days(answer))
        return {"answer": answer, "table": table, "markers": markers, "params": query.to_params()}
