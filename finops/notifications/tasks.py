"""Periodic tasks of notifications."""

from __future__ import annotations

from celery import shared_task

from finops.notifications import services


@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Daily: delete notifications beyond their account's retention."""
    services.sweep()
