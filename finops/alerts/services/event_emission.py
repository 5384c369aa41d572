"""Send an event to its subscription once, in the transaction that records it."""

from __future__ import annotations

from django.db import transaction

from finops.alerts.events.evaluation import EventCandidate
from finops.alerts.models import AlertDelivery, EventFiring, EventSubscription
from finops.alerts.services.delivery_rows import create_delivery
from finops.lib import clock


@transaction.atomic
def emit(candidate: EventCandidate) -> AlertDelivery | None:
    """Record the event and its delivery; None for a baseline, an event that was already sent, and a subscription that
    ended meanwhile. Concurrent calls wait for each other, and the second finds the keys recorded."""
    rows = EventSubscription.objects.select_for_update(of=("self",), no_key=True).select_related("account")
    living = rows.filter(pk=candidate.subscription.pk, ended_at=None, expires_at__gt=clock.now())
    subscription = living.filter(state=candidate.subscription.state).first()
    if subscription is None:
        return None
    new = _insert_firings(subscription, candidate.keys)
    if subscription.state != candidate.state:
        subscription.state = candidate.state
        subscription.save(update_fields=["state"])
    if candidate.message is None or not new:
        return None
    return create_delivery(subscription.account, subscription, candidate.message())


def _insert_firings(subscription: EventSubscription, keys: tuple[str, ...]) -> list[str]:
    """Insert the missing keys and return them. The subscription is locked, so that no other process adds any."""
    fired = set(subscription.firings.filter(key__in=keys).values_list("key", flat=True))
    new = [key for key in dict.fromkeys(keys) if key not in fired]
    EventFiring.objects.bulk_create(
        EventFiring(account=subscription.account, subscription=subscription, key=key) for key in new
    )
    return new
