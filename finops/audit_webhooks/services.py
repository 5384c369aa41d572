"""Writes on the audit log webhook of an account: created, changed, paused, resumed, deleted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, cast

import msgspec
from django.db import transaction
from django.db.models import Max, Min

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope, lock_account
from finops.alerts.channel_targets import Kind, WebhookTarget, new_signing_secret, read_target
from finops.audit_webhooks.models import AuditDelivery, AuditDeliveryEntry, AuditWebhook
from finops.audit_webhooks.target import seal_target, target_of
from finops.lib import clock
from finops.lib.errors import UserError
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path

BOTH_SIGN_FOR: Final = timedelta(hours=24)
MAX_TESTS: Final = 5


def create_audit_webhook(
    *, account: Account, actor: Actor, url: str, start_at: datetime | None = None
) -> tuple[AuditWebhook, str]:
    """Create the webhook and return it with its signing secret, which is shown only once. `start_at`: send entries from
    then on; None: from now. Looks up the host in DNS, up to 5 s. Raises UserError for a URL that is not allowed, and where
    the account has a webhook."""
    target = _target(url, new_signing_secret())
    with transaction.atomic(), account_scope(account):
        lock_account(account)
        if AuditWebhook.objects.exists():
            raise UserError("The account has an audit log webhook already. Change or delete it.")
        start = start_at or clock.now()
        row = AuditWebhook(
            account=account,
            target=seal_target(target, account.pk),
            start_at=start,
            low_water=_low_water(start),
            created_by=actor.user,
        )
        row.full_clean()
        row.save(force_insert=True)
        _record(row, actor, "create", {"target": target.shown, "start_at": start.isoformat()})
    return row, target.signing_secret


def change_url(*, account: Account, actor: Actor, url: str) -> None:
    """Change the URL and keep the secret. Looks up the host in DNS, up to 5 s. Raises UserError for a URL that is not
    allowed."""
    entered = _target(url, new_signing_secret())
    with transaction.atomic(), account_scope(account):
        row = _lock_webhook()
        changed = msgspec.structs.replace(target_of(row), url=entered.url)
        row.target, row.next_attempt_at = seal_target(changed, account.pk), clock.now()
        row.save(update_fields=["target", "next_attempt_at"])
        _record(row, actor, "change", {"target": changed.shown})
        _warn(account, f"Audit log webhook: URL changed by {actor.label}", f"Entries go to {changed.shown}.")


@transaction.atomic
def rotate_secret(*, account: Account, actor: Actor) -> str:
    """Create a new signing secret; the old one signs too for 24 hours. Raises UserError without a webhook."""
    with account_scope(account):
        row = _lock_webhook()
        target = target_of(row)
        changed = msgspec.structs.replace(
            target,
            signing_secret=new_signing_secret(),
            previous_secret=target.signing_secret,
            previous_until=clock.now() + BOTH_SIGN_FOR,
        )
        row.target = seal_target(changed, account.pk)
        row.save(update_fields=["target"])
        _record(row, actor, "rotate_secret", {})
    return changed.signing_secret


@transaction.atomic
def pause(*, account: Account, actor: Actor, reason: str = "") -> None:
    """Pause the webhook; entries are stored, and sent when it is resumed. Safe to repeat. Raises UserError without a
    webhook."""
    with account_scope(account):
        row = _lock_webhook()
        if row.paused_at is not None:
            return
        row.paused_at, row.pause_reason = clock.now(), reason[:300]
        row.save(update_fields=["paused_at", "pause_reason"])
        _record(row, actor, "pause", {"reason": reason} if reason else {})
        if not reason:
            _warn(
                account, f"Audit log webhook paused by {actor.label}", "Entries are sent when it is resumed."
            )


@transaction.atomic
def resume(*, account: Account, actor: Actor) -> None:
    """Continue at once where it was paused. Safe to repeat. Raises UserError without a webhook."""
    with account_scope(account):
        row = _lock_webhook()
        if row.paused_at is None:
            return
        row.paused_at, row.pause_reason, row.failing_since, row.failures = None, "", None, 0
        row.next_attempt_at = clock.now()
        row.save()
        _record(row, actor, "resume", {})


@transaction.atomic
def send_again(*, account: Account, actor: Actor, start_at: datetime) -> None:
    """Send all entries from `start_at` on again, also those that arrived, with the same event IDs, and earlier unsent ones:
    no entry can be skipped. Raises UserError without a webhook and for a time in the future."""
    if start_at > clock.now():
        raise UserError("Choose a moment in the past.", field="start_at")
    with account_scope(account):
        row = _lock_webhook()
        row.deliveries.filter(status=AuditDelivery.Status.WAITING).delete()
        AuditDeliveryEntry.objects.filter(webhook=row, entry__at__gte=start_at).delete()
        row.start_at, row.low_water = min(row.start_at, start_at), min(row.low_water, _low_water(start_at))
        row.next_attempt_at = clock.now()
        row.save(update_fields=["start_at", "low_water", "next_attempt_at"])
        _record(row, actor, "send_again", {"start_at": start_at.isoformat()})


@transaction.atomic
def record_test(*, account: Account, actor: Actor) -> AuditWebhook:
    """Record a test and return the webhook. Raises UserError without one, and beyond 5 tests a minute."""
    with account_scope(account):
        row = _lock_webhook()
        newest = AuditEntry.objects.filter(
            action="audit_webhook.test", at__gt=clock.now() - timedelta(minutes=1)
        )
        if newest.count() >= MAX_TESTS:
            raise UserError(f"The maximum is {MAX_TESTS} tests a minute. Wait a minute.")
        _record(row, actor, "test", {})
    return row


@transaction.atomic
def delete_audit_webhook(*, account: Account, actor: Actor) -> None:
    """Delete the webhook with its deliveries. Raises UserError without a webhook."""
    with account_scope(account):
        row = _lock_webhook()
        _record(row, actor, "delete", {})
        row.delete()
        _warn(account, f"Audit log webhook deleted by {actor.label}", "Entries are sent nowhere.")


def _target(url: str, secret: str) -> WebhookTarget:
    return cast(WebhookTarget, read_target(Kind.WEBHOOK, {"url": url}, signing_secret=secret))


def _lock_webhook() -> AuditWebhook:
    row = AuditWebhook.objects.select_for_update(of=("self",)).select_related("account").first()
    if row is None:
        raise UserError("The account has no audit log webhook.")
    return row


def _low_water(start_at: datetime) -> int:
    """The ID before the first entry from then on; the newest ID if there is none."""
    first = AuditEntry.objects.filter(at__gte=start_at).aggregate(first=Min("pk"))["first"]
    if first is not None:
        return int(first) - 1
    return int(AuditEntry.objects.aggregate(newest=Max("pk"))["newest"] or 0)


def _record(row: AuditWebhook, actor: Actor, verb: str, detail: dict[str, Any]) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=f"audit_webhook.{verb}",
        target="Audit log webhook",
        detail=detail,
    )


def _warn(account: Account, title: str, text: str) -> None:
    """Mail admins and owners, because the previous receiver gets no notice."""
    notify(
        account=account,
        kind=Notification.Kind.ALERT,
        title=title,
        text=text,
        path=page_path(account, "audit_webhook"),
        key=f"{title} {clock.now().isoformat()}",
        admins_only=True,
    )
