"""Periodic tasks of assistant activity."""

from __future__ import annotations

from celery import shared_task

from finops.activity import services


@shared_task(name="activity.sweep")
def sweep() -> None:
    """Hourly: delete calls older than their account's retention."""
    services.sweep()
