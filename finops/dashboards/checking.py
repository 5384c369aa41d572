"""What a widget's settings name, found in its account: checked when a board is written. PostgreSQL only, no lake query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import resolve_query
from finops.costs.spend_query import SpendQuery
from finops.dashboards import questions
from finops.dashboards.asked import Asked
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
from finops.dashboards.reading import known_budgets
from finops.insights.spend_change.question import spend_question
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError, unknown_value
from finops.unitcosts.queries.unit_metrics import find_unit_metric
from ingestion.queries import find_metric, metrics_of


@dataclass(frozen=True)
class Known:
    """What the checks of one board share."""

    account: Account

    @cached_property
    def sources(self) -> Sources:
        return load_sources(self.account)


def _spend(known: Known, query: SpendQuery) -> None:
    resolve_query(known.account, query, known.sources)


def spend_over_time(account: Account, config: SpendOverTimeConfig, known: Known) -> None:
    _spend(known, questions.spend_over_time(Asked(account, config)))


def spend_by(account: Account, config: SpendByConfig, known: Known) -> None:
    _spend(known, questions.spend_by(Asked(account, config)))


def total(account: Account, config: TotalConfig, known: Known) -> None:
    _spend(known, questions.total(Asked(account, config)))


def table(account: Account, config: TableConfig, known: Known) -> None:
    _spend(known, questions.table(Asked(account, config)))


def top_movers(account: Account, config: TopMoversConfig, known: Known) -> None:
    _spend(known, spend_question(questions.top_movers(Asked(account, config))))


def commitment_utilization(account: Account, config: CommitmentUtilizationConfig, known: Known) -> None:
    _spend(known, SpendQuery(filters=list(config.filters)))


def cost_tag_breakdown(account: Account, config: CostTagBreakdownConfig, known: Known) -> None:
    keys = list(CostTag.objects.filter(account=account).values_list("key", flat=True))
    if config.cost_tag.strip().casefold() not in {key.casefold() for key in keys}:
        raise unknown_value("cost_tag", config.cost_tag, keys, listed_by="listCostTags")
    _spend(known, questions.cost_tag_breakdown(Asked(account, config)))


def unit_cost(account: Account, config: UnitCostConfig, known: Known) -> None:
    find_unit_metric(account, config.unit_metric)
    _spend(known, SpendQuery(filters=list(config.filters)))


def budget_status(_account: Account, config: BudgetStatusConfig, _known: Known) -> None:
    known_budgets(list(config.budgets))


def anomalies(_account: Account, config: AnomaliesConfig, _known: Known) -> None:
    if config.min_impact is not None and not config.currency:
        raise UserError(
            "currency: min_impact is an amount, so say in which currency, such as USD.", field="currency"
        )
    if config.currency:
        currency_code(config.currency)


def savings(_account: Account, _config: SavingsConfig, _known: Known) -> None:
    """A status and a rule are right by their types."""


def usage(account: Account, config: UsageConfig, _known: Known) -> None:
    if config.metric:
        find_metric(metrics_of(account), config.metric)
    group = config.group_by
    if group and group != "customer" and not (group.startswith("dimension:") and group != "dimension:"):
        raise UserError(
            f"group_by: {group[:60]!r} is not known. It is customer, dimension:<key>, or empty.",
            field="group_by",
            value=group,
        )


def text(_account: Account, _config: TextConfig, _known: Known) -> None:
    """Any text will do."""
