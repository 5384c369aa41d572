"""A budget that was changed is evaluated at once, not with the next hour."""

from __future__ import annotations

from finops.alerts.models import AlertSubscription
from finops.alerts.services.subscriptions import request_evaluation
from finops.budgets import changes
from finops.budgets.models import Budget


@changes.register("alerts")
def _alerts(budget: Budget) -> None:
    """One query, where nobody is told of the budget."""
    if AlertSubscription.objects.filter(budget=budget, paused_at=None).exists():
        request_evaluation(budget.account)
