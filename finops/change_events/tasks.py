"""Scheduled tasks of change events."""

from __future__ import annotations

from celery import shared_task

from finops.change_events.services import retention


@shared_task(name="change_events.sweep")
def sweep() -> None:
    """Daily: delete events beyond their account's retention."""
    retention.sweep()
