"""Registrations of alerts with lower apps: subscriptions of a row or cost tag, and evaluation of changed budgets."""

from __future__ import annotations

from typing import Final

from django.db.models import Model

from accounts.creations import CreationKind, add_creation_kind
from accounts.models import Account
from finops.alerts.models import AlertChannel, AlertSubscription
from finops.alerts.queries.subscriptions import RELATED, subscription_text
from finops.alerts.services.subscriptions import request_evaluation
from finops.allocation.cost_tags.uses import dimension_uses
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.budgets.services import budget_listeners
from finops.costs.dependants import dependants
from finops.costs.models import CostSource, SavedView
from finops.lib.cost_access import sees_whole_account
from finops.unitcosts.models import UnitMetric

_FOREIGN_KEYS: Final[dict[type[Model], str]] = {
    AlertChannel: "channel",
    Budget: "budget",
    CostSource: "cost_source",
    Team: "team",
    CostTag: "cost_tag",
    SavedView: "saved_view",
    UnitMetric: "unit_metric",
}


@budget_listeners.register("alerts")
def evaluate_budget(budget: Budget) -> None:
    """Evaluate a changed budget at once instead of within the hour. One query when the budget has no alerts."""
    if AlertSubscription.objects.filter(budget=budget, paused_at=None).exists():
        request_evaluation(budget.account)


add_creation_kind(
    "alert channel",
    CreationKind(noun="alert channel", model=AlertChannel, reader="alert_channel"),
)
add_creation_kind(
    "alert subscription",
    CreationKind(
        noun="alert",
        model=AlertSubscription,
        reader="alert_subscription",
        related=RELATED,
        name=subscription_text,
    ),
)


@dependants.register("alert subscription")
def subscriptions_of_row(row: Model) -> list[str]:
    name = _FOREIGN_KEYS.get(type(row))
    if name is None:
        return []
    rows = AlertSubscription.objects.filter(**{name: row}).select_related(*RELATED)
    return [subscription_text(each) for each in rows]


@dimension_uses.register("alerts")
def subscriptions_of_cost_tag(account: Account, dimension: str) -> list[str]:
    family, _, key = dimension.partition(":")
    if family != "cost_tag" or not sees_whole_account():
        return []
    rows = AlertSubscription.objects.filter(account=account, cost_tag__key__iexact=key)
    return [f"alert {subscription_text(row)!r}" for row in rows.select_related("channel", "cost_tag")]
