"""Messages on their way: recorded, sent, tried again, sent once more, forgotten."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Final

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.channel_targets import is_sealed_now, seal_target, target_of
from finops.alerts.messages import Message, message_fields
from finops.alerts.models import AlertChannel, AlertDelivery, AlertFiring
from finops.alerts.services.delivery_attempts import LEASE, Status, hold_channel, send_now
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sealing import Unsealable
from finops.worker.broker import publish

logger = logging.getLogger(__name__)

SEND_TASK: Final = "alerts.send_delivery"
SPELL_SECONDS: Final = 30.0
"""Of one channel's backlog in one task: the broker of a single machine takes a second for each message."""

RETENTION: Final = timedelta(days=90)


def deliver(
    *, account: Account, channel: AlertChannel, message: Message, firing: AlertFiring | None = None
) -> AlertDelivery:
    """Record a message for a channel, in the caller's transaction; a worker is told on commit, and beat asks again."""
    return _create_delivery(account, channel, message, firing=firing)


@transaction.atomic
def resend(*, delivery: AlertDelivery, actor: Actor) -> AlertDelivery:
    """The same message to the same channel again, as a new delivery that names the old one. Raises UserError when the
    channel is gone, or the delivery is still being tried."""
    account = delivery.account
    with account_scope(account):
        hold_channel(delivery.channel_id)
        row = (
            AlertDelivery.objects.select_for_update(of=("self",))
            .select_related("channel")
            .get(pk=delivery.pk)
        )
        if row.channel is None:
            raise UserError("The channel of this delivery was deleted, so it cannot be sent again.")
        if row.status == Status.WAITING:
            raise UserError("This delivery is still being tried. It can be sent again when that has ended.")
        message = msgspec.convert(row.message, Message)
        new_delivery = _create_delivery(account, row.channel, message, firing=row.firing, resend_of=row)
        audit.record(
            account=account,
            actor=actor,
            action="alert_delivery.resend",
            target=f"{row.channel_name}: {message.title}",
            detail={"id": row.pk, "new_id": new_delivery.pk},
        )
    return new_delivery


def send_delivery(*, account: Account, delivery_id: int) -> bool:
    """Try to send one that is due, and while what it sends arrives, what else is due of its channel, for half a minute.
    False when it is not ours to do now. Safe to call twice, at once, and after kill -9 at any moment."""
    with account_scope(account):
        row = send_now(delivery_id)
        ours, until = row is not None, time.monotonic() + SPELL_SECONDS
        while row is not None and row.status == Status.DELIVERED:
            next_id = _next_due(row.channel_id)
            if next_id is None:
                break
            if time.monotonic() > until:
                publish(SEND_TASK, account.pk, next_id, expires=300)
                break
            row = send_now(next_id)
    return ours


def send_due() -> list[tuple[int, int]]:
    """Account and delivery of what some worker should try now: of each channel the oldest alone, so that a receiver that
    hangs holds up no other's alerts."""
    # Unscoped: a sweep over all accounts.
    waiting = AlertDelivery.objects.unscoped().filter(status=Status.WAITING, next_attempt_at__lte=clock.now())
    oldest = waiting.order_by("channel_id", "next_attempt_at", "pk").distinct("channel_id")
    return list(oldest.values_list("account_id", "pk"))


def sweep() -> int:
    """Remove what is older than 90 days and not waiting, and seal with the key of now what an earlier one sealed. How
    many were removed."""
    before = clock.now() - RETENTION
    # Unscoped: a sweep over all accounts.
    old = AlertDelivery.objects.unscoped().filter(created_at__lt=before).exclude(status=Status.WAITING)
    removed: int = old.delete()[1].get(AlertDelivery._meta.label, 0)
    for channel in AlertChannel.objects.unscoped():
        if not is_sealed_now(channel):
            _seal_again(channel.pk)
    return removed


@transaction.atomic
def _seal_again(channel_id: int) -> None:
    row = AlertChannel.objects.unscoped().select_for_update().filter(pk=channel_id).first()
    if row is None:
        return
    try:
        row.target = seal_target(target_of(row), row.account_id)
    except Unsealable:
        logger.warning("alerts: the target of channel %s cannot be read any more", channel_id)
        return
    row.save(update_fields=["target"])


def _create_delivery(
    account: Account,
    channel: AlertChannel,
    message: Message,
    *,
    firing: AlertFiring | None = None,
    resend_of: AlertDelivery | None = None,
) -> AlertDelivery:
    row = AlertDelivery(
        account=account,
        channel=channel,
        channel_name=channel.name,
        channel_kind=channel.kind,
        firing=firing,
        resend_of=resend_of,
        message=message_fields(message),
        created_at=clock.now(),
        next_attempt_at=clock.now(),
    )
    row.save(force_insert=True)
    transaction.on_commit(lambda: _publish_if_first(row))
    return row


def _publish_if_first(row: AlertDelivery) -> None:
    """Only where no earlier one of the channel is due or under way: that one asks for the next when it arrives, and a
    receiver that hangs would be waited for once for each."""
    soon = clock.now() + LEASE
    # Unscoped: the channel belongs to one account.
    before = AlertDelivery.objects.unscoped().filter(channel_id=row.channel_id, pk__lt=row.pk)
    if not before.filter(status=Status.WAITING, next_attempt_at__lte=soon).exists():
        publish(SEND_TASK, row.account_id, row.pk, expires=300)


def _next_due(channel_id: int | None) -> int | None:
    waiting = AlertDelivery.objects.filter(channel_id=channel_id, status=Status.WAITING)
    due = waiting.filter(next_attempt_at__lte=clock.now()).order_by("next_attempt_at", "pk")
    return due.values_list("pk", flat=True).first()
