"""Tasks of alerts. No task depends on a broker message: the database decides what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.alerts import services
from finops.alerts.services.delivery_rows import SEND_TASK
from finops.alerts.services.subscriptions import EVALUATE_TASK


@shared_task(name="alerts.evaluate_due")
def evaluate_due() -> None:
    """Every minute: accounts whose subscriptions are due become a task each; event subscriptions of dead credentials end."""
    services.end_dead()
    for account_id in services.due_accounts():
        evaluate.apply_async([account_id], expires=60)


@shared_task(name=EVALUATE_TASK)
def evaluate(account_id: int) -> None:
    """Evaluate an account. Does nothing when it is not due, or another worker evaluates it."""
    services.evaluate_if_due(Account.objects.get(pk=account_id))


@shared_task(name="alerts.send_due")
def send_due() -> None:
    """Every 15 seconds: start a task for each delivery that is due, one per channel."""
    for account_id, delivery_id in services.send_due():
        send_delivery.apply_async([account_id, delivery_id], expires=15)


@shared_task(name=SEND_TASK)
def send_delivery(account_id: int, delivery_id: int) -> None:
    """Send a delivery. Does nothing when it is not due, or another worker sends it."""
    services.send_delivery(account=Account.objects.get(pk=account_id), delivery_id=delivery_id)


@shared_task(name="alerts.sweep")
def sweep() -> None:
    """Daily: delete deliveries beyond their account's retention, and seal targets with the current key."""
    services.sweep()
    services.sweep_events()
