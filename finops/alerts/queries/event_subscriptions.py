"""Event subscriptions of assistants."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import Account
from finops.alerts.models import EventSubscription
from finops.lib import clock


def living_event_subscriptions(account: Account) -> QuerySet[EventSubscription]:
    """Return active event subscriptions, newest first. One query."""
    return EventSubscription.objects.filter(account=account, ended_at=None, expires_at__gt=clock.now())
