"""A widget of potential monthly savings."""

from __future__ import annotations

from typing import Any, get_args

from finops.dashboards.widget_type import Config, ListLength, Setting, WidgetContext, WidgetType, word_choices
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import STATUSES, RuleName, SavingsQuery, Status


class SavingsConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    status: Status = "open"
    rule: RuleName | None = None
    limit: ListLength = 5


class SavingsWidget(WidgetType[SavingsConfig]):
    name = "savings"
    title = "Savings"
    description = "Potential monthly savings and the largest recommendations."
    config = SavingsConfig
    order, width, height = 80, 4, 4
    page = "savings"
    settings = (
        Setting("status", "Status", "select", word_choices(STATUSES)),
        Setting("rule", "Rule", "select", word_choices(get_args(RuleName)), first="All rules"),
    )

    def read(self, context: WidgetContext[SavingsConfig]) -> dict[str, Any]:
        config = context.config
        query = SavingsQuery(status=config.status, rule=config.rule, limit=config.limit)
        return {"answer": list_savings(context.account, query, deadline=context.deadline, evidence=0)}
