"""Scheduled tasks of receipts."""

from __future__ import annotations

from celery import shared_task

from finops.receipts import services


@shared_task(name="receipts.sweep")
def sweep() -> None:
    """Daily: delete receipts that are older than their account keeps."""
    services.sweep()
