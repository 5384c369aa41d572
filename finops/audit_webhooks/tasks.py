"""What the worker does for audit log webhooks. Nothing depends on a message: the database says what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.audit_webhooks import sending


@shared_task(name="audit_webhooks.send_due")
def send_due() -> None:
    """Every 15 seconds: webhooks with unsent entries become a task each."""
    for account_id, webhook_id in sending.webhooks_due():
        send.apply_async([account_id, webhook_id], expires=15)


@shared_task(name="audit_webhooks.send")
def send(account_id: int, webhook_id: int) -> None:
    """Send unsent entries; a webhook that has none, or is being sent to elsewhere, is left alone."""
    sending.send(account=Account.objects.get(pk=account_id), webhook_id=webhook_id)


@shared_task(name="audit_webhooks.sweep")
def sweep() -> None:
    """Daily: deliveries that arrived 90 days ago are removed, targets are sealed with the key of now."""
    sending.sweep()
