"""Deliveries of messages: record, send, retry, resend and delete.

An attempt claims the delivery: it moves `next_attempt_at` beyond the longest attempt and adds an entry to `attempts`,
which that time identifies. If a worker dies, both stay, so the delivery becomes due again and is sent with the same
ids.
"""

from __future__ import annotations

import logging
import random
import time
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

import msgspec
from django.db import transaction
from django.db.models import Q

from accounts import audit
from accounts.audit import Actor
from accounts.limits import older_than_retention
from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts import senders
from finops.alerts.channel_targets import EmailTarget, is_sealed_now, seal_target, target_of
from finops.alerts.events.credentials import credential_problem
from finops.alerts.events.targets import target_of as event_target_of
from finops.alerts.messages import Message
from finops.alerts.models import AlertChannel, AlertDelivery, AlertFiring
from finops.alerts.recipients import recipient_url, recipients, request_confirmations
from finops.alerts.senders import DeliveryOutcome, Envelope
from finops.alerts.senders import event as event_sender
from finops.alerts.services.delivery_rows import (
    SEND_TASK,
    attempt_entry,
    create_delivery,
    end,
    hold_channel,
    open_attempt,
    same_receiver,
)
from finops.alerts.services.event_ends import end_subscription
from finops.cost_access.queries import limited_since
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sealing import Unsealable
from finops.lib.telemetry import metrics
from finops.worker.broker import publish

logger = logging.getLogger(__name__)

SPELL_SECONDS: Final = 30.0
"""The time that one task spends on a channel's backlog: the broker of a single machine takes a second per message."""


BACK_OFF: Final = tuple(timedelta(minutes=minutes) for minutes in (0.5, 2, 10, 60, 240, 720))
"""Waits between attempts: seven attempts in 17 hours. Each is up to a fifth longer, to spread retries after an
outage."""

MAX_ATTEMPTS: Final = len(BACK_OFF) + 1
EVENT_ATTEMPTS: Final = 4
"""The maximum of attempts of an event: SEP-3415 ends after a quarter of an hour, as assistants act on recent events.
"""
LONGEST_WAIT: Final = timedelta(days=1)
"""The maximum wait that a receiver may request by Retry-After."""

NARROWED: Final = "Cost access of the subscription or channel was limited after this message was written."

Status = AlertDelivery.Status


def send_now(delivery_id: int) -> AlertDelivery | None:
    """Try a delivery that is due; None if it is not due or another worker has it. The account must be in scope,
    without an open transaction: the attempt takes up to 10 s."""
    delivery = claim_delivery(delivery_id)
    return carry_out(delivery) if delivery is not None else None


@transaction.atomic
def claim_delivery(delivery_id: int) -> AlertDelivery | None:
    locked = AlertDelivery.objects.select_for_update(skip_locked=True, of=("self",))
    rows = locked.select_related("channel", "account", "firing", "event_subscription__connection__user")
    now = clock.now()
    row = rows.filter(pk=delivery_id, status=Status.WAITING, next_attempt_at__lte=now).first()
    if row is None:
        return None
    if row.attempts and row.attempts[-1]["seconds"] is None:
        row.attempts[-1] |= {"seconds": 0.0, "answer": "The server stopped while sending."}
    if problem := _receiver_problem(row):
        end(row, problem)
        return None
    if len(row.attempts) >= _max_attempts(row):
        end(row, "No more attempts.")
        return None
    open_attempt(row)
    row.save(update_fields=["attempts", "next_attempt_at"])
    return row


def carry_out(row: AlertDelivery) -> AlertDelivery | None:
    """Send a claimed delivery and record the outcome; None if the claim expired and another worker has it."""
    begun = time.monotonic()
    outcome = _send(row)
    return _record_outcome(row, outcome, time.monotonic() - begun)


def _receiver_problem(row: AlertDelivery) -> str:
    """Return why nothing may be sent to the channel or event subscription any more; empty while it may."""
    if row.channel_kind != AlertDelivery.EVENT:
        if row.channel is None:
            return "The channel was deleted."
        return NARROWED if _was_narrowed(row) else ""
    subscription = row.event_subscription
    if subscription is None:
        return "The event subscription ended."
    if row.message["kind"] == "end":
        return ""
    if subscription.ended_at is not None or subscription.expires_at <= clock.now():
        return subscription.end_reason or "The event subscription expired."
    subscription.account = row.account
    problem = credential_problem(subscription)
    if problem:
        # After this transaction, which holds the delivery: ending takes the subscription first.
        transaction.on_commit(lambda: end_subscription(subscription=subscription, reason=problem))
    return problem


def _was_narrowed(row: AlertDelivery) -> bool:
    """Whether the message is older than a limit of its subscription or channel. Always false for a test message, which
    contains no cost. One query."""
    readers = {
        "alert_channel": row.channel_id,
        "alert_subscription": row.firing.subscription_id if row.firing else None,
    }
    return not row.is_test and limited_since(readers, row.created_at)


def _max_attempts(row: AlertDelivery) -> int:
    if row.is_test:
        return 1
    return EVENT_ATTEMPTS if row.channel_kind == AlertDelivery.EVENT else MAX_ATTEMPTS


def _send(row: AlertDelivery) -> DeliveryOutcome:
    channel, subscription = row.channel, row.event_subscription
    if channel is None and subscription is None:
        return DeliveryOutcome(verdict="failed", answer="The channel was deleted.")
    try:
        target = target_of(channel) if channel is not None else None
        event_target = event_target_of(subscription) if subscription is not None else None
    except Unsealable as error:
        return DeliveryOutcome(verdict="failed", answer=error.message)
    sending = Envelope(
        message=msgspec.convert(row.message, Message),
        delivery_id=row.pk,
        account_slug=row.account.slug,
        account_name=row.account.name,
        created_at=row.created_at,
        arrived=tuple(row.attempts[-1]["arrived"]),
    )
    if event_target is not None and subscription is not None:
        return event_sender.send(
            event_target, sending, event=subscription.event, public_id=subscription.public_id
        )
    if target is None:
        return DeliveryOutcome(verdict="failed", answer="The channel was deleted.")
    if isinstance(target, EmailTarget):
        return _send_email(row.account, target, sending)
    return senders.send(row.channel_kind, target, sending)


def _send_email(account: Account, target: EmailTarget, sending: Envelope) -> DeliveryOutcome:
    """Send to allowed addresses only; the answer starts with the others, in full. If none is allowed, the attempt is
    retried, because an address may be confirmed."""
    status = recipients(account, target.addresses)
    request_confirmations(account=account, addresses=status.waiting)
    if not status.allowed:
        return DeliveryOutcome(verdict="again", answer=status.notice)
    allowed_target = msgspec.structs.replace(target, addresses=status.allowed)
    urls = {address: recipient_url(account, address) for address in status.allowed}
    outcome = senders.send(
        AlertChannel.Kind.EMAIL, allowed_target, msgspec.structs.replace(sending, unsubscribe_urls=urls)
    )
    answer = f"{status.notice} {outcome.answer}".strip()
    return msgspec.structs.replace(outcome, answer=answer, is_partial=bool(status.notice))


@transaction.atomic
def _record_outcome(
    delivery: AlertDelivery, outcome: DeliveryOutcome, seconds: float
) -> AlertDelivery | None:
    if delivery.is_test:
        hold_channel(delivery.channel_id)
    attempt = Q(pk=delivery.pk, status=Status.WAITING, next_attempt_at=delivery.next_attempt_at)
    row = AlertDelivery.objects.select_for_update().filter(attempt).first()
    if row is None:
        logger.warning("alerts: delivery %s was taken over before its answer came", delivery.pk)
        return None
    now, begun = clock.now(), row.attempts[-1]["at"]
    row.attempts[-1] = attempt_entry(
        datetime.fromisoformat(begun), round(seconds, 3), outcome.status_code, outcome.answer, outcome.arrived
    ) | {"is_partial": outcome.is_partial}
    row.next_attempt_at = _next(row, outcome, now)
    delivered = outcome.verdict == "delivered"
    row.status = Status.DELIVERED if delivered else Status.WAITING if row.next_attempt_at else Status.FAILED
    row.delivered_at = now if delivered else None
    metrics.DELIVERIES.inc(row.channel_kind, "retry" if outcome.verdict == "again" else outcome.verdict)
    row.save(update_fields=["attempts", "status", "next_attempt_at", "delivered_at"])
    if delivered and row.is_test and row.channel_id is not None:
        AlertChannel.objects.filter(pk=row.channel_id).update(tested_at=now)
    if outcome.status_code == HTTPStatus.GONE:
        _end_by_410(row)
    return row


def _end_by_410(row: AlertDelivery) -> None:
    """End the subscription of a callback that responds 410; if the client declared SEP-3415's extension, refuse only
    this event."""
    subscription = row.event_subscription
    if subscription is not None and not subscription.follows_extension:
        reason = "The callback returned 410 Gone."
        transaction.on_commit(
            lambda: end_subscription(subscription=subscription, reason=reason, is_told=False)
        )


def _next(row: AlertDelivery, outcome: DeliveryOutcome, now: datetime) -> datetime | None:
    attempt_count = len(row.attempts)
    if outcome.verdict != "again" or attempt_count >= _max_attempts(row):
        return None
    # Not cryptographic: it only spreads retries.
    usual = BACK_OFF[attempt_count - 1] * random.uniform(1.0, 1.2)  # noqa: S311
    return now + max(usual, min(timedelta(seconds=outcome.wait), LONGEST_WAIT))


def deliver(
    *, account: Account, channel: AlertChannel, message: Message, firing: AlertFiring | None = None
) -> AlertDelivery:
    """Record a message for a channel in the caller's transaction. A worker gets it on commit, else beat."""
    return create_delivery(account, channel, message, firing=firing)


@transaction.atomic
def resend(*, delivery: AlertDelivery, actor: Actor) -> AlertDelivery:
    """Send the same message to the same channel again, as a new delivery that refers to the old one. Raises UserError
    when the channel is deleted or was limited since, or the delivery is still being tried."""
    account = delivery.account
    with account_scope(account):
        hold_channel(delivery.channel_id)
        row = (
            AlertDelivery.objects.select_for_update(of=("self",))
            .select_related("channel", "firing")
            .get(pk=delivery.pk)
        )
        if row.channel_kind == AlertDelivery.EVENT:
            raise UserError("Events of assistants cannot be resent.")
        if row.channel is None:
            raise UserError("The channel was deleted, so this delivery cannot be resent.")
        if row.status == Status.WAITING:
            raise UserError("Delivery is still in progress. Resend it when it has ended.")
        if _was_narrowed(row):
            raise UserError(NARROWED)
        message = msgspec.convert(row.message, Message)
        new_delivery = create_delivery(account, row.channel, message, firing=row.firing, resend_of=row)
        audit.record(
            account=account,
            actor=actor,
            action="alert_delivery.resend",
            target=f"{row.channel_name}: {message.title}",
            detail={"id": row.pk, "new_id": new_delivery.pk},
        )
    return new_delivery


@transaction.atomic
def cancel_delivery(*, delivery: AlertDelivery, actor: Actor) -> None:
    """Cancel a waiting delivery without recording an attempt in progress. Raises UserError when it has ended."""
    account = delivery.account
    with account_scope(account):
        hold_channel(delivery.channel_id)
        row = AlertDelivery.objects.select_for_update().get(pk=delivery.pk)
        if row.status != Status.WAITING:
            raise UserError(f"This delivery is {row.get_status_display().lower()} and cannot be canceled.")
        end(row, f"Canceled by {actor.label}.")
        title = msgspec.convert(row.message, Message).title
        audit.record(
            account=account,
            actor=actor,
            action="alert_delivery.cancel",
            target=f"{row.channel_name}: {title}",
            detail={"id": row.pk},
        )


def send_delivery(*, account: Account, delivery_id: int) -> bool:
    """Send a delivery that is due and, as long as deliveries succeed, others due of its channel, for up to 30 s.
    False if it is not due or another worker has it. Safe to repeat, concurrently, and after kill -9 at any moment."""
    with account_scope(account):
        row = send_now(delivery_id)
        is_claimed, until = row is not None, time.monotonic() + SPELL_SECONDS
        while row is not None and row.status == Status.DELIVERED:
            next_id = _next_due(row)
            if next_id is None:
                break
            if time.monotonic() > until:
                publish(SEND_TASK, account.pk, next_id, expires=300)
                break
            row = send_now(next_id)
    return is_claimed


def send_due() -> list[tuple[int, int]]:
    """Return account and delivery of what workers should try now: only the oldest of each channel or event
    subscription, so that a receiver that hangs delays no other."""
    # Unscoped: a sweep over all accounts.
    waiting = AlertDelivery.objects.unscoped().filter(status=Status.WAITING, next_attempt_at__lte=clock.now())
    oldest = waiting.order_by("channel_id", "event_subscription_id", "next_attempt_at", "pk").distinct(
        "channel_id", "event_subscription_id"
    )
    return list(oldest.values_list("account_id", "pk"))


def sweep() -> int:
    """Delete deliveries beyond their account's retention that are not waiting, and reseal targets sealed with an earlier key.
    Returns the number deleted."""
    expired = older_than_retention("ALERT_DELIVERY_DAYS", "created_at")
    # Unscoped: a sweep over all accounts.
    old = AlertDelivery.objects.unscoped().filter(expired).exclude(status=Status.WAITING)
    removed: int = old.delete()[1].get(AlertDelivery._meta.label, 0)
    for channel in AlertChannel.objects.unscoped():
        if not is_sealed_now(channel):
            _reseal(channel.pk)
    return removed


@transaction.atomic
def _reseal(channel_id: int) -> None:
    row = AlertChannel.objects.unscoped().select_for_update().filter(pk=channel_id).first()
    if row is None:
        return
    try:
        row.target = seal_target(target_of(row), row.account_id)
    except Unsealable:
        logger.warning("alerts: the target of channel %s cannot be read any more", channel_id)
        return
    row.save(update_fields=["target"])


def _next_due(row: AlertDelivery) -> int | None:
    waiting = AlertDelivery.objects.filter(**same_receiver(row), status=Status.WAITING)
    due = waiting.filter(next_attempt_at__lte=clock.now()).order_by("next_attempt_at", "pk")
    return due.values_list("pk", flat=True).first()
