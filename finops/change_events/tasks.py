"""What beat asks of change events."""

from __future__ import annotations

from celery import shared_task

from finops.change_events.services import retention


@shared_task(name="change_events.sweep")
def sweep() -> None:
    """Daily: events that their account keeps no longer are deleted."""
    retention.sweep()
