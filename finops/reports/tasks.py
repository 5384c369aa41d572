"""Tasks of reports. No task depends on a broker message: the database decides what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.reports import services


@shared_task(name="reports.send_due")
def send_due() -> None:
    """Every ten minutes: start a task for each schedule whose report is due."""
    for account_id, schedule_id in services.schedules_due():
        send.apply_async([account_id, schedule_id], expires=600)


@shared_task(name=services.SEND_TASK)
def send(account_id: int, schedule_id: int) -> None:
    """Send a report. Does nothing when it is not due, or was already sent."""
    services.send_if_due(account=Account.objects.get(pk=account_id), schedule_id=schedule_id)
