"""Rows of deliveries: create one, start an attempt, mark as failed. deliveries.py sends them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from accounts.models import Account
from finops.alerts.messages import Message, message_fields
from finops.alerts.models import AlertChannel, AlertDelivery, AlertFiring, EventSubscription
from finops.lib import clock
from finops.worker.broker import publish

SEND_TASK: Final = "alerts.send_delivery"

LEASE: Final = timedelta(minutes=5)
"""The duration of a claim. Longer than any attempt: 10 s for HTTP, 20 addresses on a slow mail server for email."""

Status = AlertDelivery.Status


def create_delivery(
    account: Account,
    channel: AlertChannel | EventSubscription,
    message: Message,
    *,
    firing: AlertFiring | None = None,
    resend_of: AlertDelivery | None = None,
) -> AlertDelivery:
    """Record a message in the caller's transaction; a worker gets it on commit."""
    row = AlertDelivery(
        account=account,
        **_receiver_fields(channel),
        firing=firing,
        resend_of=resend_of,
        message=message_fields(message),
        created_at=clock.now(),
        next_attempt_at=clock.now(),
    )
    row.save(force_insert=True)
    transaction.on_commit(lambda: _publish_if_first(row))
    return row


def _receiver_fields(receiver: AlertChannel | EventSubscription) -> dict[str, Any]:
    if isinstance(receiver, AlertChannel):
        return {"channel": receiver, "channel_name": receiver.name, "channel_kind": receiver.kind}
    return {
        "event_subscription": receiver,
        "channel_name": f"{receiver.get_event_display()}: {receiver.credential_label}"[:100],
        "channel_kind": AlertDelivery.EVENT,
    }


def same_receiver(row: AlertDelivery) -> dict[str, int | None]:
    """Return the filter of deliveries to the same channel or event subscription."""
    return {"channel_id": row.channel_id, "event_subscription_id": row.event_subscription_id}


def _publish_if_first(row: AlertDelivery) -> None:
    """Publish the task only if no earlier delivery of the channel is due or in progress. That one publishes the next
    when it succeeds; otherwise each would wait for a receiver that hangs."""
    soon = clock.now() + LEASE
    # Unscoped: the receiver belongs to one account.
    before = AlertDelivery.objects.unscoped().filter(**same_receiver(row), pk__lt=row.pk)
    if not before.filter(status=Status.WAITING, next_attempt_at__lte=soon).exists():
        publish(SEND_TASK, row.account_id, row.pk, expires=300)


def open_attempt(row: AlertDelivery) -> None:
    """Add an attempt without saving the row."""
    now = clock.now()
    before = row.attempts[-1].get("arrived", []) if row.attempts else []
    row.attempts.append(attempt_entry(now, None, None, "", before))
    row.next_attempt_at = now + LEASE


def hold_channel(channel_id: int | None) -> None:
    """Lock the channel until the transaction ends, after any change or deletion in progress. Take it before any lock
    on its subscriptions or deliveries, in the same order as deletion, to prevent deadlocks."""
    if channel_id is not None:
        AlertChannel.objects.select_for_update(no_key=True).filter(pk=channel_id).first()


def end(row: AlertDelivery, answer: str) -> None:
    """Mark a delivery as failed, without another attempt."""
    row.attempts.append(attempt_entry(clock.now(), 0.0, None, answer, []))
    row.status, row.next_attempt_at = Status.FAILED, None
    row.save(update_fields=["attempts", "status", "next_attempt_at"])


def attempt_entry(
    at: datetime, seconds: float | None, status_code: int | None, answer: str, arrived: Any
) -> dict[str, Any]:
    return {
        "at": at.isoformat(),
        "seconds": seconds,
        "status_code": status_code,
        "answer": answer,
        "arrived": list(arrived),
    }
