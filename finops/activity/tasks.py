"""What beat asks of assistant activity."""

from __future__ import annotations

from celery import shared_task

from finops.activity import services


@shared_task(name="activity.sweep")
def sweep() -> None:
    """Hourly: calls of days that their account keeps no longer are deleted."""
    services.sweep()
