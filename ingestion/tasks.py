"""What beat asks of ingestion. Each asks the database what is due."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task

from finops.lib import clock
from ingestion.services import answers, event_ids, ledger


@shared_task(name="ingestion.prune_rejected")
def prune_rejected() -> None:
    """Every five minutes: of rejected events each source's newest stay."""
    ledger.prune_rejected()


@shared_task(name="ingestion.sweep")
def sweep() -> None:
    """Hourly: answers whose day is over go, and old batches of the ledger into the months' sums."""
    answers.forget_old()
    ledger.roll_up()


@shared_task(name="ingestion.expire_event_ids")
def expire_event_ids() -> None:
    """Daily, because it reads the whole table: event ids that were received 35 days ago and earlier go."""
    event_ids.expire(clock.today() - timedelta(days=event_ids.DAYS))
