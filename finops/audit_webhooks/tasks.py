"""Tasks of audit log webhooks. A lost message does no harm: the database records what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.audit_webhooks import sending


@shared_task(name="audit_webhooks.send_due")
def send_due() -> None:
    """Every 15 seconds: queue a task for each webhook with unsent entries."""
    for account_id, webhook_id in sending.webhooks_due():
        send.apply_async([account_id, webhook_id], expires=15)


@shared_task(name="audit_webhooks.send")
def send(account_id: int, webhook_id: int) -> None:
    """Send unsent entries; does nothing for a webhook without any, or one that another worker is sending."""
    sending.send(account=Account.objects.get(pk=account_id), webhook_id=webhook_id)


@shared_task(name="audit_webhooks.sweep")
def sweep() -> None:
    """Daily: delete deliveries and then entries of the audit log beyond their account's retention, and reseal targets under the
    current key."""
    sending.sweep()
    sending.sweep_audit_log()
