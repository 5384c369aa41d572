"""Tasks of exchange rates."""

from __future__ import annotations

from celery import shared_task

from finops.exchange_rates import services


@shared_task(name="exchange_rates.fetch")
def fetch() -> None:
    """Twice a day: fetch the file of EXCHANGE_RATES_URL, where it is set."""
    services.fetch_rates()
