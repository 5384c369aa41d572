"""The end of an event subscription, and the last message to its callback."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.scoping import account_scope
from finops.alerts.messages import Message, console_url
from finops.alerts.models import AlertDelivery, EventSubscription
from finops.alerts.services.delivery_rows import create_delivery, end
from finops.lib import clock
from finops.lib.sentences import quote

ACTOR = Actor.command("events")


@transaction.atomic
def end_subscription(
    *, subscription: EventSubscription, reason: str, is_told: bool = True, actor: Actor = ACTOR
) -> None:
    """End the subscription; with `is_told` its callback gets a last message about it. Idempotent."""
    with account_scope(subscription.account):
        row = (
            EventSubscription.objects.select_for_update(of=("self",))
            .select_related("account")
            .filter(pk=subscription.pk, ended_at=None)
            .first()
        )
        if row is None:
            return
        row.ended_at, row.end_reason = clock.now(), reason[:300]
        row.save(update_fields=["ended_at", "end_reason"])
        end_deliveries(row, reason)
        record(row, actor, "end", {"reason": reason})
        if is_told:
            create_delivery(row.account, row, _end_message(row, reason))


def end_deliveries(row: EventSubscription, reason: str) -> None:
    waiting = AlertDelivery.objects.select_for_update().filter(
        event_subscription=row, status=AlertDelivery.Status.WAITING
    )
    for delivery in waiting.order_by("pk"):
        end(delivery, reason)


def _end_message(row: EventSubscription, reason: str) -> Message:
    return Message(
        title=f"{quote(row.account.name)}: the event subscription ended",
        summary=reason,
        url=console_url(row.account, "alert_deliveries"),
        kind="end",
        dedup_key=f"account-{row.account_id}:events-{row.public_id}",
        is_end=True,
    )


def record(row: EventSubscription, actor: Actor, verb: str, detail: dict[str, Any]) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=f"event_subscription.{verb}",
        target=row.event,
        detail={"id": row.public_id, "of": row.credential_label, **detail},
    )
