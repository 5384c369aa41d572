"""The question that each type of widget asks, of the same types that the pages and tools ask with. Pure."""

from __future__ import annotations

from typing import Any

from finops.costs.queries.spend import asked_days
from finops.costs.spend_query import SpendQuery
from finops.dashboards.asked import Asked, days_of, filters_of, spend_of
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
from finops.insights.anomalies_query import AnomaliesQuery
from finops.insights.commitments.question import CommitmentQuery
from finops.insights.savings.question import SavingsQuery
from finops.insights.spend_change.question import SpendChangeQuery
from finops.lib.periods import Granularity
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.usage_query import UsageQuery

MAX_SPARK_DAYS = 92


def spend_over_time(asked: Asked[SpendOverTimeConfig]) -> SpendQuery:
    config = asked.config
    groups = [config.group_by] if config.group_by else []
    return spend_of(asked, granularity=config.granularity, group_by=groups, top=config.top)


def spend_by(asked: Asked[SpendByConfig]) -> SpendQuery:
    return spend_of(asked, group_by=[asked.config.group_by], top=asked.config.top)


def total(asked: Asked[TotalConfig]) -> SpendQuery:
    """With a series for its trend: by day, by month where that would be too many."""
    plain = spend_of(asked, compare_to=asked.config.compare_to)
    granularity: Granularity = "day" if asked_days(asked.account, plain).days <= MAX_SPARK_DAYS else "month"
    return spend_of(asked, compare_to=asked.config.compare_to, granularity=granularity)


def table(asked: Asked[TableConfig]) -> SpendQuery:
    config = asked.config
    groups = list(config.group_by) or ["service"]
    return spend_of(asked, group_by=groups, compare_to=config.compare_to, top=config.top)


def cost_tag_breakdown(asked: Asked[CostTagBreakdownConfig]) -> SpendQuery:
    return spend_of(asked, group_by=[f"cost_tag:{asked.config.cost_tag}"], top=asked.config.top)


def top_movers(asked: Asked[TopMoversConfig]) -> SpendChangeQuery:
    config = asked.config
    return SpendChangeQuery(
        group_by=[config.group_by],
        compare_to=config.compare_to,
        filters=filters_of(asked),
        basis=config.basis,
        top=config.top,
        **days_of(asked).as_fields(),
    )


def unit_cost(asked: Asked[UnitCostConfig]) -> UnitCostQuery:
    config = asked.config
    return UnitCostQuery(
        unit_metric=config.unit_metric,
        granularity=config.granularity,
        compare_to="previous_period",
        filters=filters_of(asked),
        **days_of(asked).as_fields(),
    )


def commitment_utilization(asked: Asked[CommitmentUtilizationConfig]) -> CommitmentQuery:
    config = asked.config
    return CommitmentQuery(
        by=config.by, top=config.top, filters=filters_of(asked), **days_of(asked).as_fields()
    )


def savings(asked: Asked[SavingsConfig]) -> SavingsQuery:
    config = asked.config
    return SavingsQuery(status=config.status, rule=config.rule, limit=config.top)


def usage(asked: Asked[UsageConfig]) -> UsageQuery:
    config = asked.config
    return UsageQuery(
        metric=config.metric,
        granularity=config.granularity,
        group_by=config.group_by,
        top=config.top,
        **days_of(asked).as_fields(),
    )


def anomalies(asked: Asked[AnomaliesConfig]) -> AnomaliesQuery:
    """Those with days in the board's; of any day where the board has none."""
    config, board = asked.config, asked.board
    days: dict[str, Any] = {}
    if board.has_days:
        spoken = SpendQuery(period=board.period, start_date=board.start_date, end_date=board.end_date)
        found = asked_days(asked.account, spoken)
        days = {"start_date": found.start, "end_date": found.end}
    return AnomaliesQuery(
        state=config.state,
        search=config.search,
        min_impact=config.min_impact,
        currency=config.currency,
        limit=config.top,
        **days,
    )
