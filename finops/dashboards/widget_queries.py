"""The question that each type of widget asks, of the same types that the pages and tools ask with. Pure."""

from __future__ import annotations

from typing import Any

from finops.costs.queries.spend import query_days
from finops.costs.spend_query import SpendQuery
from finops.dashboards.configs import (
    AnomaliesConfig,
    CommitmentUtilizationConfig,
    CostTagBreakdownConfig,
    SavingsConfig,
    SpendByConfig,
    SpendOverTimeConfig,
    TableConfig,
    TopMoversConfig,
    TotalConfig,
    UnitCostConfig,
    UsageConfig,
)
from finops.dashboards.widget_context import WidgetContext, days_of, filters_of, spend_of
from finops.insights.anomalies_query import AnomaliesQuery
from finops.insights.commitments.commitment_query import CommitmentQuery
from finops.insights.savings.savings_query import SavingsQuery
from finops.insights.spend_change.spend_change_query import SpendChangeQuery
from finops.lib.periods import Granularity
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.usage_query import UsageQuery

MAX_SPARK_DAYS = 92


def spend_over_time(context: WidgetContext[SpendOverTimeConfig]) -> SpendQuery:
    config = context.config
    groups = [config.group_by] if config.group_by else []
    return spend_of(context, granularity=config.granularity, group_by=groups, top=config.top)


def spend_by(context: WidgetContext[SpendByConfig]) -> SpendQuery:
    return spend_of(context, group_by=[context.config.group_by], top=context.config.top)


def total(context: WidgetContext[TotalConfig]) -> SpendQuery:
    """With a series for its trend: by day, by month where that would be too many."""
    plain = spend_of(context, compare_to=context.config.compare_to)
    granularity: Granularity = "day" if query_days(context.account, plain).days <= MAX_SPARK_DAYS else "month"
    return spend_of(context, compare_to=context.config.compare_to, granularity=granularity)


def table(context: WidgetContext[TableConfig]) -> SpendQuery:
    config = context.config
    groups = list(config.group_by) or ["service"]
    return spend_of(context, group_by=groups, compare_to=config.compare_to, top=config.top)


def cost_tag_breakdown(context: WidgetContext[CostTagBreakdownConfig]) -> SpendQuery:
    return spend_of(context, group_by=[f"cost_tag:{context.config.cost_tag}"], top=context.config.top)


def top_movers(context: WidgetContext[TopMoversConfig]) -> SpendChangeQuery:
    config = context.config
    return SpendChangeQuery(
        group_by=[config.group_by],
        compare_to=config.compare_to,
        filters=filters_of(context),
        basis=config.basis,
        top=config.top,
        **days_of(context).as_fields(),
    )


def unit_cost(context: WidgetContext[UnitCostConfig]) -> UnitCostQuery:
    config = context.config
    return UnitCostQuery(
        unit_metric=config.unit_metric,
        granularity=config.granularity,
        compare_to="previous_period",
        filters=filters_of(context),
        **days_of(context).as_fields(),
    )


def commitment_utilization(context: WidgetContext[CommitmentUtilizationConfig]) -> CommitmentQuery:
    config = context.config
    return CommitmentQuery(
        by=config.by, top=config.top, filters=filters_of(context), **days_of(context).as_fields()
    )


def savings(context: WidgetContext[SavingsConfig]) -> SavingsQuery:
    config = context.config
    return SavingsQuery(status=config.status, rule=config.rule, limit=config.top)


def usage(context: WidgetContext[UsageConfig]) -> UsageQuery:
    config = context.config
    return UsageQuery(
        metric=config.metric,
        granularity=config.granularity,
        group_by=config.group_by,
        top=config.top,
        **days_of(context).as_fields(),
    )


def anomalies(context: WidgetContext[AnomaliesConfig]) -> AnomaliesQuery:
    """Those with days in the board's; of any day where the board has none."""
    config, board = context.config, context.board
    days: dict[str, Any] = {}
    if board.has_days:
        query = SpendQuery(period=board.period, start_date=board.start_date, end_date=board.end_date)
        days_range = query_days(context.account, query)
        days = {"start_date": days_range.start, "end_date": days_range.end}
    return AnomaliesQuery(
        state=config.state,
        search=config.search,
        min_impact=config.min_impact,
        currency=config.currency,
        limit=config.top,
        **days,
    )
