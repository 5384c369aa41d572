"""The types of widgets: what each shows, what it is configured with, how it is checked and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from accounts.models import Account
from finops.dashboards import widget_checks, widget_data
from finops.dashboards.configs import (
    AnomaliesConfig,
    BudgetStatusConfig,
    CommitmentUtilizationConfig,
    Config,
    CostTagBreakdownConfig,
    DatedConfig,
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
from finops.lib.errors import unknown_value

Read = Callable[[WidgetContext[Any]], Mapping[str, Any]]
Check = Callable[[Account, Any, widget_checks.CheckContext], None]


@dataclass(frozen=True)
class WidgetType:
    """`read` gives the context of the template `dashboards/widgets/<name>.html`; `check` raises UserError for what the
    settings name and the account does not have; `page` is the name of the page that shows the same at length. Width in
    columns and height in rows are what it takes unless said otherwise."""

    name: str
    title: str
    description: str
    config: type[Config]
    read: Read
    check: Check
    width: int
    height: int
    page: str = ""

    @property
    def takes_days(self) -> bool:
        return issubclass(self.config, DatedConfig) or self.config is AnomaliesConfig

    @property
    def takes_filters(self) -> bool:
        return "filters" in self.config.__struct_fields__


_TYPES: Final = (
    WidgetType(
        "spend_over_time",
        "Spend over time",
        "A chart of cost by day, week or month, in total or stacked by a dimension.",
        SpendOverTimeConfig,
        widget_data.spend_over_time,
        widget_checks.spend_over_time,
        *(6, 5, "cost_explorer"),
    ),
    WidgetType(
        "spend_by",
        "Spend by",
        "The costliest values of a dimension with their shares.",
        SpendByConfig,
        widget_data.spend_by,
        widget_checks.spend_by,
        *(6, 5, "cost_explorer"),
    ),
    WidgetType(
        "total",
        "Total with change",
        "One amount for each currency, its trend, and its change.",
        TotalConfig,
        widget_data.total,
        widget_checks.total,
        *(3, 3, "cost_explorer"),
    ),
    WidgetType(
        "top_movers",
        "Top movers",
        "What went up and down most between two periods.",
        TopMoversConfig,
        widget_data.top_movers,
        widget_checks.top_movers,
        *(6, 5, "spend_change"),
    ),
    WidgetType(
        "unit_cost",
        "Unit cost",
        "A saved unit metric: its unit cost, trend and change.",
        UnitCostConfig,
        widget_data.unit_cost,
        widget_checks.unit_cost,
        *(4, 4, "unit_economics"),
    ),
    WidgetType(
        "budget_status",
        "Budget status",
        "Budgets in their current period, the worst first.",
        BudgetStatusConfig,
        widget_data.budget_status,
        widget_checks.budget_status,
        *(4, 4, "budgets"),
    ),
    WidgetType(
        "anomalies",
        "Anomalies",
        "Unexpected cost, the worst first.",
        AnomaliesConfig,
        widget_data.anomalies,
        widget_checks.anomalies,
        *(4, 4, "anomalies"),
    ),
    WidgetType(
        "savings",
        "Savings",
        "What could be saved a month, and the largest recommendations.",
        SavingsConfig,
        widget_data.savings,
        widget_checks.savings,
        *(4, 4, "savings"),
    ),
    WidgetType(
        "commitment_utilization",
        "Commitment utilization",
        "Utilization and coverage of commitments, effective savings rate, and the most wasteful ones.",
        CommitmentUtilizationConfig,
        widget_data.commitment_utilization,
        widget_checks.commitment_utilization,
        *(6, 5, "commitments"),
    ),
    WidgetType(
        "usage",
        "Usage",
        "A chart of a usage metric, in total or by customer or dimension.",
        UsageConfig,
        widget_data.usage,
        widget_checks.usage,
        *(6, 5, "usage"),
    ),
    WidgetType(
        "cost_tag_breakdown",
        "Cost tag breakdown",
        "The cost of a cost tag's values with their shares.",
        CostTagBreakdownConfig,
        widget_data.cost_tag_breakdown,
        widget_checks.cost_tag_breakdown,
        *(6, 5, "cost_explorer"),
    ),
    WidgetType(
        "table",
        "Table",
        "Cost by one or two dimensions, with shares and change.",
        TableConfig,
        widget_data.table,
        widget_checks.table,
        *(12, 6, "cost_explorer"),
    ),
    WidgetType(
        "text",
        "Text",
        "A heading, a note, a link to what the board is about.",
        TextConfig,
        widget_data.text,
        widget_checks.text,
        *(12, 2),
    ),
)

CATALOGUE: Final[Mapping[str, WidgetType]] = {each.name: each for each in _TYPES}


def find_type(name: str, *, field: str = "type") -> WidgetType:
    """The type of this name, kindly read (`Spend by`). Raises UserError with the nearest."""
    key = name.strip().lower().replace(" ", "_").replace("-", "_")
    widget_type = CATALOGUE.get(key)
    if widget_type is None:
        raise unknown_value(field, name, CATALOGUE, listed_by="listWidgetTypes", show=str)
    return widget_type


def read_config(kind: WidgetType, settings: Mapping[str, Any]) -> Config:
    """Stored settings as the type's own. They were checked when they were stored."""
    return msgspec.convert(settings, kind.config, strict=False)
