"""Tasks of insights. No task depends on a broker message: the database decides what is due."""

from __future__ import annotations

import logging

from celery import shared_task

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.connector import SourceError
from finops.costs.models import CostSource
from finops.insights.anomalies.parts import PART_TASK
from finops.insights.anomalies.services import (
    RUN_TASK,
    detect_if_due,
    detect_part_if_due,
    due_accounts,
)
from finops.insights.derived_events import services as derived_events
from finops.insights.savings.services import (
    REFRESH_TASK,
    refresh_recommendations,
    refreshable_sources,
)

logger = logging.getLogger(__name__)


@shared_task(name="insights.find_due_anomalies")
def find_due_anomalies() -> None:
    """Queue a task, every minute, for each account whose cost changed or that had no detection today."""
    for account_id in due_accounts():
        find_anomalies.apply_async([account_id], expires=60)


@shared_task(name=RUN_TASK)
def find_anomalies(account_id: int) -> None:
    """Detect anomalies of an account; do nothing if that is not due, or if another worker does it."""
    detect_if_due(Account.objects.get(pk=account_id))


@shared_task(name="insights.derive_due_events")
def derive_due_events() -> None:
    """Every five minutes: accounts whose cost, budgets or cost tags changed become a task each."""
    for account_id in derived_events.due_accounts():
        derive_events.apply_async([account_id], expires=300)


@shared_task(name=derived_events.RUN_TASK)
def derive_events(account_id: int) -> None:
    """Derive an account's change events again; do nothing if that is not due, or if another worker does it."""
    derived_events.derive_if_due(Account.objects.get(pk=account_id))


@shared_task(name=PART_TASK)
def find_anomalies_in_part(account_id: int, number: int) -> None:
    """Detect anomalies in a part of a large account; do nothing if it is done, or if another worker does it."""
    detect_part_if_due(Account.objects.get(pk=account_id), number)


@shared_task(name="insights.find_recommendations_due")
def find_recommendations_due() -> None:
    """Daily, as often as clouds refresh them: each source that is fetched from a cloud becomes a task."""
    for account_id, source_id in refreshable_sources():
        refresh_recommendations_of.apply_async([account_id, source_id], expires=3_600)


@shared_task(name=REFRESH_TASK)
def refresh_recommendations_of(account_id: int, source_id: int) -> None:
    """Of one source of an account. Credentials that may not read them leave what was there: they are no part of the bill, and
    the source's refresh says why."""
    with account_scope(Account.objects.get(pk=account_id)):
        source = CostSource.objects.filter(pk=source_id).first()
        if source is None:
            return
        try:
            refresh_recommendations(source=source, actor=Actor(label="Scheduled refresh"))
        except SourceError as error:
            logger.info("insights: no recommendations of source %s: %s", source_id, error.message)
