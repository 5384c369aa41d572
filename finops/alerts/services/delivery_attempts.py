"""One attempt of a delivery: claimed, sent, noted.

A claim moves `next_attempt_at` beyond the longest attempt and opens an entry in `attempts`; that moment is its name. A
worker that dies leaves both, so the delivery becomes due again and goes out with the same ids.
"""

from __future__ import annotations

import logging
import random
import time
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from django.db import transaction
from django.db.models import Q

from accounts.models import Account
from finops.alerts import senders
from finops.alerts.channel_targets import EmailTarget, target_of
from finops.alerts.messages import Message
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.recipients import recipient_url, recipients, request_confirmations
from finops.alerts.senders import Envelope, Outcome
from finops.lib import clock
from finops.lib.sealing import Unsealable

logger = logging.getLogger(__name__)

LEASE: Final = timedelta(minutes=5)
"""Longer than any attempt: 10 s for HTTP, 20 addresses on a slow mail server for e-mail."""

BACK_OFF: Final = tuple(timedelta(minutes=minutes) for minutes in (0.5, 2, 10, 60, 240, 720))
"""Between attempts, so seven in 17 hours; each up to a fifth longer, so that deliveries of one outage spread."""

MAX_ATTEMPTS: Final = len(BACK_OFF) + 1
LONGEST_WAIT: Final = timedelta(days=1)
"""What a receiver may ask for by Retry-After."""

Status = AlertDelivery.Status


def send_now(delivery_id: int) -> AlertDelivery | None:
    """Try a delivery that is due; None when it is not, or another has it. The account must be in scope, and no
    transaction open: the attempt takes up to 10 s."""
    delivery = claim(delivery_id)
    return carry_out(delivery) if delivery is not None else None


@transaction.atomic
def claim(delivery_id: int) -> AlertDelivery | None:
    rows = AlertDelivery.objects.select_for_update(skip_locked=True, of=("self",)).select_related("channel")
    now = clock.now()
    row = rows.filter(pk=delivery_id, status=Status.WAITING, next_attempt_at__lte=now).first()
    if row is None:
        return None
    close_open_attempt(row)
    reason = _end_reason(row)
    if reason:
        end(row, reason)
        return None
    open_attempt(row)
    row.save(update_fields=["attempts", "next_attempt_at"])
    return row


def open_attempt(row: AlertDelivery) -> None:
    """Not saved."""
    now = clock.now()
    before = row.attempts[-1].get("arrived", []) if row.attempts else []
    row.attempts.append(_entry(now, None, None, "", before))
    row.next_attempt_at = now + LEASE


def hold_channel(channel_id: int | None) -> None:
    """Wait for whoever changes or deletes a channel, until the transaction ends. Taken before any lock on a subscription or
    a delivery of it, as deleting does, so that nobody waits in a circle."""
    if channel_id is not None:
        AlertChannel.objects.select_for_update(no_key=True).filter(pk=channel_id).first()


def close_open_attempt(row: AlertDelivery) -> None:
    """Say of an attempt that nobody finished what is known. Not saved."""
    if row.attempts and row.attempts[-1]["seconds"] is None:
        row.attempts[-1] |= {"seconds": 0.0, "answer": "The server stopped while this was being sent."}


def end(row: AlertDelivery, answer: str) -> None:
    """Give a delivery up, without another attempt."""
    row.attempts.append(_entry(clock.now(), 0.0, None, answer, []))
    row.status, row.next_attempt_at = Status.FAILED, None
    row.save(update_fields=["attempts", "status", "next_attempt_at"])


def carry_out(row: AlertDelivery) -> AlertDelivery | None:
    """Send what was claimed and note it; None when the claim ended meanwhile, and another has it now."""
    begun = time.monotonic()
    outcome = _send(row)
    return _record_outcome(row, outcome, time.monotonic() - begun)


def _end_reason(row: AlertDelivery) -> str:
    if row.channel is None:
        return "The channel was deleted."
    if len(row.attempts) >= _max_attempts(row):
        return "No more attempts are made."
    return ""


def _max_attempts(row: AlertDelivery) -> int:
    return 1 if row.is_test else MAX_ATTEMPTS


def _send(row: AlertDelivery) -> Outcome:
    channel = row.channel
    if channel is None:
        return Outcome(verdict="failed", answer="The channel was deleted.")
    try:
        target = target_of(channel)
    except Unsealable as error:
        return Outcome(verdict="failed", answer=error.message)
    sending = Envelope(
        message=msgspec.convert(row.message, Message),
        delivery_id=row.pk,
        account_slug=row.account.slug,
        account_name=row.account.name,
        created_at=row.created_at,
        arrived=tuple(row.attempts[-1]["arrived"]),
    )
    if isinstance(target, EmailTarget):
        return _send_email(row.account, target, sending)
    return senders.send(channel.kind, target, sending)


def _send_email(account: Account, target: EmailTarget, sending: Envelope) -> Outcome:
    """To allowed addresses alone; the answer begins with the others, whole. Where none is allowed, it is tried again:
    somebody may confirm."""
    status = recipients(account, target.addresses)
    request_confirmations(account=account, addresses=status.waiting)
    if not status.allowed:
        return Outcome(verdict="again", answer=status.notice)
    allowed_target = msgspec.structs.replace(target, addresses=status.allowed)
    urls = {address: recipient_url(account, address) for address in status.allowed}
    outcome = senders.send(
        AlertChannel.Kind.EMAIL, allowed_target, msgspec.structs.replace(sending, unsubscribe_urls=urls)
    )
    answer = f"{status.notice} {outcome.answer}".strip()
    return msgspec.structs.replace(outcome, answer=answer, is_partial=bool(status.notice))


@transaction.atomic
def _record_outcome(delivery: AlertDelivery, outcome: Outcome, seconds: float) -> AlertDelivery | None:
    if delivery.is_test:
        hold_channel(delivery.channel_id)
    ours = Q(pk=delivery.pk, status=Status.WAITING, next_attempt_at=delivery.next_attempt_at)
    row = AlertDelivery.objects.select_for_update().filter(ours).first()
    if row is None:
        logger.warning("alerts: delivery %s was taken over before its answer came", delivery.pk)
        return None
    now, begun = clock.now(), row.attempts[-1]["at"]
    row.attempts[-1] = _entry(
        datetime.fromisoformat(begun), round(seconds, 3), outcome.status_code, outcome.answer, outcome.arrived
    ) | {"is_partial": outcome.is_partial}
    row.next_attempt_at = _next(row, outcome, now)
    delivered = outcome.verdict == "delivered"
    row.status = Status.DELIVERED if delivered else Status.WAITING if row.next_attempt_at else Status.FAILED
    row.delivered_at = now if delivered else None
    row.save(update_fields=["attempts", "status", "next_attempt_at", "delivered_at"])
    if delivered and row.is_test and row.channel_id is not None:
        AlertChannel.objects.filter(pk=row.channel_id).update(tested_at=now)
    return row


def _next(row: AlertDelivery, outcome: Outcome, now: datetime) -> datetime | None:
    attempt_count = len(row.attempts)
    if outcome.verdict != "again" or attempt_count >= _max_attempts(row):
        return None
    # Not cryptography: a spread.
    usual = BACK_OFF[attempt_count - 1] * random.uniform(1.0, 1.2)  # noqa: S311
    return now + max(usual, min(timedelta(seconds=outcome.wait), LONGEST_WAIT))


def _entry(
    at: datetime, seconds: float | None, status_code: int | None, answer: str, arrived: Any
) -> dict[str, Any]:
    return {
        "at": at.isoformat(),
        "seconds": seconds,
        "status_code": status_code,
        "answer": answer,
        "arrived": list(arrived),
    }
