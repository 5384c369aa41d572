"""What beat asks of notifications."""

from __future__ import annotations

from celery import shared_task

from finops.notifications import services


@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Daily: notifications of 90 days ago are deleted."""
    services.sweep()
