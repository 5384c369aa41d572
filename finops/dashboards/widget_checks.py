"""What a widget's settings name, found in its account: checked when a board is written. PostgreSQL only, no lake query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import resolve_query
from finops.costs.spend_query import SpendQuery
from finops.dashboards import widget_queries
from finops.dashboards.configs import (
    AnomaliesConfig,
    BudgetStatusConfig,
    CommitmentUtilizationConfig,
    CostTagBreakdownConfig,
    SavingsConfig,
    SpendByConfig,
    SpendOverTimeConfig,
    TableConfig,
    TextConfig,
    TopMoversConfig,
    TotalConfig,
    UnitCostConfig,
    UsageConfig,
)
from finops.dashboards.widget_context import WidgetContext
from finops.dashboards.widget_data import check_budgets_exist
from finops.insights.spend_change.spend_change_query import spend_question
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError, unknown_value
from finops.unitcosts.queries.unit_metrics import find_unit_metric
from ingestion.queries import find_metric, metrics_of


@dataclass(frozen=True)
class CheckContext:
    """What the checks of one board share."""

    account: Account

    @cached_property
    def sources(self) -> Sources:
        return load_sources(self.account)


def _spend(context: CheckContext, query: SpendQuery) -> None:
    resolve_query(context.account, query, context.sources)


def spend_over_time(account: Account, config: SpendOverTimeConfig, context: CheckContext) -> None:
    _spend(context, widget_queries.spend_over_time(WidgetContext(account, config)))


def spend_by(account: Account, config: SpendByConfig, context: CheckContext) -> None:
    _spend(context, widget_queries.spend_by(WidgetContext(account, config)))


def total(account: Account, config: TotalConfig, context: CheckContext) -> None:
    _spend(context, widget_queries.total(WidgetContext(account, config)))


def table(account: Account, config: TableConfig, context: CheckContext) -> None:
    _spend(context, widget_queries.table(WidgetContext(account, config)))


def top_movers(account: Account, config: TopMoversConfig, context: CheckContext) -> None:
    _spend(context, spend_question(widget_queries.top_movers(WidgetContext(account, config))))


def commitment_utilization(
    account: Account, config: CommitmentUtilizationConfig, context: CheckContext
) -> None:
    _spend(context, SpendQuery(filters=list(config.filters)))


def cost_tag_breakdown(account: Account, config: CostTagBreakdownConfig, context: CheckContext) -> None:
    keys = list(CostTag.objects.filter(account=account).values_list("key", flat=True))
    if config.cost_tag.strip().casefold() not in {key.casefold() for key in keys}:
        raise unknown_value("cost_tag", config.cost_tag, keys, listed_by="listCostTags")
    _spend(context, widget_queries.cost_tag_breakdown(WidgetContext(account, config)))


def unit_cost(account: Account, config: UnitCostConfig, context: CheckContext) -> None:
    find_unit_metric(account, config.unit_metric)
    _spend(context, SpendQuery(filters=list(config.filters)))


def budget_status(_account: Account, config: BudgetStatusConfig, _context: CheckContext) -> None:
    check_budgets_exist(list(config.budgets))


def anomalies(_account: Account, config: AnomaliesConfig, _context: CheckContext) -> None:
    if config.min_impact is not None and not config.currency:
        raise UserError(
            "currency: min_impact is an amount, so say in which currency, such as USD.", field="currency"
        )
    if config.currency:
        currency_code(config.currency)


def savings(_account: Account, _config: SavingsConfig, _context: CheckContext) -> None:
    """A status and a rule are right by their types."""


def usage(account: Account, config: UsageConfig, _context: CheckContext) -> None:
    if config.metric:
        find_metric(metrics_of(account), config.metric)
    group = config.group_by
    if group and group != "customer" and not (group.startswith("dimension:") and group != "dimension:"):
        raise UserError(
            f"group_by: {group[:60]!r} is not known. It is customer, dimension:<key>, or empty.",
            field="group_by",
            value=group,
        )


def text(_account: Account, _config: TextConfig, _context: CheckContext) -> None:
    """Any text will do."""
