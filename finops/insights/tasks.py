"""What the worker does for insights. Nothing depends on a message: the database says what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.insights.anomalies.services import RUN_TASK, detect_if_due, due_accounts


@shared_task(name="insights.find_due_anomalies")
def find_due_anomalies() -> None:
    """Every minute: accounts whose cost changed, or that nobody looked at today, become a task each."""
    for account_id in due_accounts():
        find_anomalies.apply_async([account_id], expires=60)


@shared_task(name=RUN_TASK)
def find_anomalies(account_id: int) -> None:
    """Look for anomalies of an account; one that is not due, or is looked at elsewhere, is left alone."""
    detect_if_due(Account.objects.get(pk=account_id))
