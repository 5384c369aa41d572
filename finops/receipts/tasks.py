"""What beat asks of receipts."""

from __future__ import annotations

from celery import shared_task

from finops.receipts import services


@shared_task(name="receipts.sweep")
def sweep() -> None:
    """Daily: receipts of days that their account keeps no longer are deleted."""
    services.sweep()
