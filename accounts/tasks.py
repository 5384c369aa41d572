"""What beat asks of the accounts."""

from __future__ import annotations

from celery import shared_task

from accounts.oauth import services


@shared_task(name="accounts.sweep_connections")
def sweep_connections() -> None:
    """Hourly: codes, tokens and connections that ended, and clients that nobody connected, are deleted."""
    services.sweep()
