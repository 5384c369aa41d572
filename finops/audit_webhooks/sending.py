"""Sending: in order, each entry at least once, with a stable ID.

A delivery is 100 entries at most, fixed when it is created, and only one is pending at a time. An attempt claims the
webhook: it sets `next_attempt_at` to after the longest attempt. If a worker dies, the same delivery is sent again then.

IDs of entries are assigned before their transactions commit, so a lower one may appear after a higher one was sent. Entries
are therefore searched above `low_water`, which stays 24 hours behind what was sent, and skipped if a delivery has them.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, QuerySet
from standardwebhooks import Webhook

from accounts.audit import Actor
from accounts.limits import AUDIT_LOG_DAYS, older_than_retention
from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts.senders.http import post_bytes
from finops.alerts.senders.outcome import DeliveryOutcome
from finops.audit_webhooks import services
from finops.audit_webhooks.models import AuditDelivery, AuditDeliveryEntry, AuditWebhook
from finops.audit_webhooks.target import is_sealed_now, seal_target, target_of
from finops.lib import clock
from finops.lib.sealing import Unsealable
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path

ENTRIES: Final = 100
SPELL_SECONDS: Final = 30.0
LEASE: Final = timedelta(minutes=5)
"""Longer than an attempt, which takes 10 s."""
BACK_OFF: Final = tuple(timedelta(minutes=minutes) for minutes in (0.5, 2, 10, 30, 60))
"""Delays between attempts; the last one repeats."""
LONGEST_WAIT: Final = timedelta(hours=6)
"""The longest delay that a receiver's Retry-After may set."""
PAUSE_AFTER: Final = timedelta(days=3)
COMMIT_GRACE: Final = timedelta(hours=24)
"""Longer than any transaction."""
KEPT_ATTEMPTS: Final = 20
SWEEP_BATCH: Final = 2_000
ACTOR: Final = Actor(label="Audit log webhook")

Status = AuditDelivery.Status


@dataclass(frozen=True)
class Claim:
    """A claim, identified by `until`: with another value in the row, another worker has taken over."""

    webhook: AuditWebhook
    delivery: AuditDelivery
    until: datetime


def webhooks_due() -> list[tuple[int, int]]:
    """Account and id of webhooks with unsent entries that are due."""
    # Unscoped: a sweep over all accounts.
    rows = AuditWebhook.objects.unscoped().filter(paused_at=None, next_attempt_at__lte=clock.now())
    waiting = AuditDelivery.objects.unscoped().filter(webhook=OuterRef("pk"), status=Status.WAITING)
    rows = rows.filter(Exists(waiting) | Exists(_unsent(OuterRef("pk"), OuterRef("account"))))
    return list(rows.filter(account__suspended_at=None).values_list("account_id", "pk"))


def send(*, account: Account, webhook_id: int) -> int:
    """Send what is due, and newly due entries, for half a minute; return how many entries arrived. Safe to call twice, at
    once, and after kill -9 at any moment. No transaction may be open: an attempt takes up to 10 s."""
    arrived, until = 0, time.monotonic() + SPELL_SECONDS
    with account_scope(account):
        while time.monotonic() < until:
            claim = claim_delivery(webhook_id)
            if claim is None:
                break
            begun = time.monotonic()
            outcome = _post(claim)
            if not _record_outcome(claim, outcome, time.monotonic() - begun):
                break
            arrived += claim.delivery.event_count
    return arrived


@transaction.atomic
def claim_delivery(webhook_id: int) -> Claim | None:
    """Return the delivery to send now, creating one where none is pending; None where there is nothing to send, or another
    worker has it."""
    rows = AuditWebhook.objects.select_for_update(skip_locked=True, of=("self",)).select_related("account")
    now = clock.now()
    row = rows.filter(pk=webhook_id, paused_at=None, next_attempt_at__lte=now).first()
    if row is None:
        return None
    delivery = row.deliveries.filter(status=Status.WAITING).first() or _new_delivery(row)
    if delivery is None:
        return None
    row.next_attempt_at = now + LEASE
    row.save(update_fields=["next_attempt_at"])
    return Claim(row, delivery, row.next_attempt_at)


def _new_delivery(row: AuditWebhook) -> AuditDelivery | None:
    ids = list(_unsent(row.pk, row.account_id).order_by("pk").values_list("pk", flat=True)[:ENTRIES])
    if not ids:
        return None
    delivery = AuditDelivery.objects.create(account=row.account, webhook=row, event_count=len(ids))
    AuditDeliveryEntry.objects.bulk_create(
        AuditDeliveryEntry(account=row.account, webhook=row, delivery=delivery, entry_id=pk) for pk in ids
    )
    return delivery


def _unsent(webhook_id: Any, account_id: Any) -> QuerySet[AuditEntry]:
    # Unscoped: of the webhook's account.
    webhook = AuditWebhook.objects.unscoped().filter(
        pk=webhook_id, low_water__lt=OuterRef("pk"), start_at__lte=OuterRef("at")
    )
    deliveries = AuditDeliveryEntry.objects.unscoped().filter(webhook=webhook_id, entry=OuterRef("pk"))
    return AuditEntry.objects.unscoped().filter(Exists(webhook), ~Exists(deliveries), account=account_id)


def send_test(*, account: Account, actor: Actor) -> DeliveryOutcome:
    """Send a request without entries, signed like all others, also while the webhook is paused; deliveries and their
    retries do not change. Up to 10 s. Raises UserError without a webhook, and beyond 5 tests a minute."""
    with account_scope(account):
        row = services.record_test(account=account, actor=actor)
        body = {
            "type": "audit_log.test",
            "timestamp": clock.now().isoformat(),
            "data": {"account": {"slug": account.slug, "name": account.name}, "events": []},
        }
        return _post_content(row, f"msg_audit_test_{uuid.uuid4().hex}", body)


def _post(claim: Claim) -> DeliveryOutcome:
    return _post_content(claim.webhook, f"msg_audit_{claim.delivery.pk}", payload(claim.delivery))


def _post_content(webhook: AuditWebhook, name: str, content: dict[str, Any]) -> DeliveryOutcome:
    try:
        target = target_of(webhook)
    except Unsealable as error:
        return DeliveryOutcome(verdict="failed", answer=error.message)
    body, now = msgspec.json.encode(content).decode(), clock.now()
    signatures = [Webhook(secret).sign(name, now, body) for secret in target.signing_secrets()]
    headers = {
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return post_bytes(target.url, body.encode(), headers, target)


def payload(delivery: AuditDelivery) -> dict[str, Any]:
    """Return the body, the same at every attempt. The `id` of an event is the same in every delivery."""
    rows = AuditDeliveryEntry.objects.filter(delivery=delivery).order_by("entry_id").select_related("entry")
    return {
        "type": "audit_log.entries",
        "timestamp": delivery.created_at.isoformat(),
        "data": {
            "account": {"slug": delivery.account.slug, "name": delivery.account.name},
            "events": [event_of(row.entry) for row in rows],
        },
    }


def event_of(entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": f"audit_{entry.pk}",
        "at": entry.at.isoformat(),
        "actor": entry.actor_label,
        "action": entry.action,
        "target": entry.target,
        "detail": entry.detail,
    }


@transaction.atomic
def _record_outcome(claim: Claim, outcome: DeliveryOutcome, seconds: float) -> bool:
    """Record the outcome and return whether the delivery arrived while this worker had the claim."""
    rows = AuditWebhook.objects.select_for_update(of=("self",)).select_related("account")
    row = rows.filter(pk=claim.webhook.pk, next_attempt_at=claim.until).first()
    delivery = AuditDelivery.objects.filter(pk=claim.delivery.pk, status=Status.WAITING).first()
    if row is None or delivery is None:
        return False
    now, is_delivered = clock.now(), outcome.verdict == "delivered"
    delivery.attempts = [*delivery.attempts, _attempt(now, seconds, outcome)][-KEPT_ATTEMPTS:]
    delivery.attempt_count += 1
    if is_delivered:
        delivery.status, delivery.delivered_at = Status.DELIVERED, now
        row.failures, row.failing_since, row.next_attempt_at, row.last_delivered_at = 0, None, now, now
        row.low_water = max(row.low_water, _low_water_after(row, now))
    else:
        _fail(row, outcome, now)
    delivery.save()
    row.save()
    return is_delivered


def _attempt(now: datetime, seconds: float, outcome: DeliveryOutcome) -> dict[str, Any]:
    return {
        "at": now.isoformat(),
        "seconds": round(seconds, 3),
        "status_code": outcome.status_code,
        "answer": outcome.answer,
    }


def _low_water_after(row: AuditWebhook, now: datetime) -> int:
    """Return the highest entry sent below which no open transaction can still commit one."""
    sent = AuditDeliveryEntry.objects.filter(webhook=row, entry__at__lt=now - COMMIT_GRACE)
    return int(sent.aggregate(highest=Max("entry_id"))["highest"] or 0)


def _fail(row: AuditWebhook, outcome: DeliveryOutcome, now: datetime) -> None:
    """Schedule a retry, whatever the response: an audit log must not lose an entry. After three days the webhook is paused."""
    row.failing_since = row.failing_since or now
    wait = min(timedelta(seconds=outcome.wait), LONGEST_WAIT)
    row.next_attempt_at = now + max(BACK_OFF[min(row.failures, len(BACK_OFF) - 1)], wait)
    row.failures += 1
    if now - row.failing_since < PAUSE_AFTER:
        return
    row.save()
    reason = f"No request arrived for {PAUSE_AFTER.days} days. Last answer: {outcome.answer or 'none'}"
    services.pause(account=row.account, actor=ACTOR, reason=reason)
    row.paused_at, row.pause_reason = now, reason[:300]
    notify(
        account=row.account,
        kind=Notification.Kind.ALERT,
        title="Audit log webhook paused",
        text=f"{reason} Entries are kept, and sent when an admin resumes it.",
        path=page_path(row.account, "audit_webhook"),
        key=f"audit webhook {row.pk} {row.failing_since.isoformat()}",
        admins_only=True,
    )


def sweep() -> int:
    """Delete deliveries that arrived before their account's retention, reseal targets under the current key, and return how many deliveries."""
    # Unscoped: a sweep over all accounts. Entries above low_water say what was sent already, so theirs stay.
    needed = AuditDeliveryEntry.objects.unscoped().filter(
        delivery=OuterRef("pk"), entry_id__gt=F("webhook__low_water")
    )
    old = AuditDelivery.objects.unscoped().filter(
        older_than_retention("AUDIT_DELIVERY_DAYS", "delivered_at"), ~Exists(needed), status=Status.DELIVERED
    )
    removed: int = old.delete()[1].get(AuditDelivery._meta.label, 0)
    for row in AuditWebhook.objects.unscoped():
        if not is_sealed_now(row):
            _reseal(row.pk)
    return removed


def sweep_audit_log() -> int:
    """Delete entries of the audit log beyond their account's retention, in batches; returns how many. Those that a webhook has
    still to send stay, and those of a delivery that is kept."""
    # Unscoped: by age, of every account.
    waiting = AuditWebhook.objects.unscoped().filter(
        account=OuterRef("account"), low_water__lt=OuterRef("pk"), start_at__lte=OuterRef("at")
    )
    deliveries = AuditDeliveryEntry.objects.unscoped().filter(entry=OuterRef("pk"))
    rows = AuditEntry.objects.unscoped()
    expired = rows.filter(older_than_retention(AUDIT_LOG_DAYS, "at"), ~Exists(waiting), ~Exists(deliveries))
    removed = 0
    while keys := list(expired.values_list("pk", flat=True)[:SWEEP_BATCH]):
        rows.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed


@transaction.atomic
def _reseal(webhook_id: int) -> None:
    row = AuditWebhook.objects.unscoped().select_for_update().filter(pk=webhook_id).first()
    if row is None:
        return
    try:
        row.target = seal_target(target_of(row), row.account_id)
    except Unsealable:
        return  # the next attempt says so
    row.save(update_fields=["target"])
