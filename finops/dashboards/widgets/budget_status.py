"""A widget of budgets in their current period."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from finops.budgets.charts import bar_of
from finops.budgets.models import Budget
from finops.budgets.queries import budget_statuses, budgets_of
from finops.budgets.status_rules import EXCEEDED, OK, WARNING
from finops.dashboards.widget_type import (
    CheckContext,
    Choices,
    Config,
    ListLength,
    Setting,
    WidgetContext,
    WidgetType,
)
from finops.lib.errors import UserError
from finops.lib.sentences import quote

_WORST_FIRST = {EXCEEDED: 0, WARNING: 1, OK: 2}


class BudgetStatusConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    budgets: Annotated[list[int], Meta(description="Ids, from listBudgets; empty: all.", max_length=50)] = []
    limit: ListLength = 6


def _choices() -> Choices:
    return list(Budget.objects.values_list("pk", "name"))


class BudgetStatusWidget(WidgetType[BudgetStatusConfig]):
    name = "budget_status"
    title = "Budget status"
    description = "Budgets in their current period, most at risk first."
    config = BudgetStatusConfig
    order, width, height = 60, 4, 4
    page = "budgets"
    settings = (Setting("budgets", "Budgets (default: all)", "checks", _choices),)

    def check(self, config: BudgetStatusConfig, context: CheckContext) -> None:
        """Check the settings. Raises UserError for a budget that the account does not have."""
        names_by_id = dict(Budget.objects.values_list("pk", "name"))
        missing_ids = [pk for pk in config.budgets if pk not in names_by_id]
        if missing_ids:
            names = [f"{pk} ({quote(name, 60)})" for pk, name in list(names_by_id.items())[:20]]
            raise UserError(
                (
                    f"budgets: {missing_ids[0]} does not exist. Valid: {', '.join(names) or 'none'}. See "
                    "listBudgets."
                ),
                field="budgets",
                value=missing_ids[0],
            )

    def read(self, context: WidgetContext[BudgetStatusConfig]) -> dict[str, Any]:
        """Return the budgets, most urgent first. `gone` is the number of deleted budgets in the settings."""
        config = context.config
        budgets = budgets_of(context.account)
        selected = [each for each in budgets if not config.budgets or each.pk in config.budgets]
        statuses = budget_statuses(context.account, selected, deadline=context.deadline) if selected else []
        statuses.sort(key=lambda each: (_WORST_FIRST[each.status], each.name.casefold()))
        stored = set(Budget.objects.values_list("pk", flat=True)) if config.budgets else set()
        return {
            "rows": [(each, bar_of(each)) for each in statuses[: config.limit]],
            "more": max(0, len(statuses) - config.limit),
            "gone": len(set(config.budgets) - stored),
        }
