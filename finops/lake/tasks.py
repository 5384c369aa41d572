"""What beat asks of the lake."""

from __future__ import annotations

from celery import shared_task

from finops.lake import sweeping


@shared_task(name="lake.sweep")
def sweep() -> None:
    """Hourly: files that count no more leave the storage."""
    sweeping.sweep()
