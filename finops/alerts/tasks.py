"""What the worker does for alerts. Nothing depends on a message: the database says what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.alerts import services
from finops.alerts.services.subscriptions import EVALUATE_TASK


@shared_task(name="alerts.evaluate_due")
def evaluate_due() -> None:
    """Every minute: accounts whose subscriptions are due become a task each."""
    for account_id in services.due_accounts():
        evaluate.apply_async([account_id], expires=60)


@shared_task(name=EVALUATE_TASK)
def evaluate(account_id: int) -> None:
    """Fire what is due in an account; one that is not due, or is evaluated elsewhere, is left alone."""
    services.evaluate_if_due(Account.objects.get(pk=account_id))
