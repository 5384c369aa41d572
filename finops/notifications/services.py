"""Writes on notifications. Other apps call `notify` in the transaction of the event: both are stored, or neither."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Final

from django.db import transaction
from django.urls import reverse

from accounts.limits import older_than_retention
from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.sentences import truncate
from finops.notifications.models import MAX_PATH, Notification, NotificationRead, NotificationReader

DELETE_BATCH_SIZE: Final = 5_000


def notify(
    *,
    account: Account,
    kind: Notification.Kind,
    severity: Notification.Severity = Notification.Severity.WARNING,
    title: str,
    text: str = "",
    currency: str = "",
    path: str,
    key: str,
    admins_only: bool = False,
) -> None:
    """Notify everybody in the account, or its admins and owners, of an event; once for each `key`. `currency`: of the amounts in its texts. A `path` longer than
    MAX_PATH is stored without its query. One statement, without waiting."""
    row = Notification(
        account_id=account.pk,
        kind=kind,
        severity=severity,
        title=_storable(title, 200) or kind.label,
        text=_storable(text, 500),
        currency=_storable(currency, 100),
        path=path if len(path) <= MAX_PATH else path.partition("?")[0][:MAX_PATH],
        admins_only=admins_only,
        key=sha256(f"{kind}/{key}".encode(errors="replace")).hexdigest(),
        created_at=clock.now(),
    )
    # Unscoped: workers name the account themselves.
    Notification.objects.unscoped().bulk_create([row], ignore_conflicts=True)


def page_path(account: Account, page: str, **arguments: object) -> str:
    """Return the path of a page of the account, by the name of its URL."""
    return reverse(page, kwargs={"slug": account.slug, **arguments})


@transaction.atomic
def mark_read(*, notification: Notification, user: User) -> None:
    """Mark a notification as read by the person. Safe to repeat."""
    with account_scope(notification.account):
        NotificationRead.objects.bulk_create(
            [NotificationRead(account_id=notification.account_id, notification=notification, user=user)],
            ignore_conflicts=True,
        )


@transaction.atomic
def mark_all_read(*, account: Account, user: User, until: datetime) -> None:
    """Mark notifications created `until` then as read: those that arrive between the page and the click stay unread."""
    with account_scope(account):
        NotificationReader.objects.update_or_create(
            account=account, user=user, defaults={"read_until": min(until, clock.now())}
        )
        NotificationRead.objects.filter(user=user, notification__created_at__lte=until).delete()


def sweep() -> int:
    """Delete notifications beyond their account's retention, in batches; returns how many."""
    count, expired = 0, older_than_retention("NOTIFICATION_DAYS", "created_at")
    while True:
        # Unscoped: by age, of every account.
        old = Notification.objects.unscoped().filter(expired)
        keys = list(old.values_list("pk", flat=True)[:DELETE_BATCH_SIZE])
        Notification.objects.unscoped().filter(pk__in=keys).delete()
        count += len(keys)
        if len(keys) < DELETE_BATCH_SIZE:
            return count


def _storable(text: str, limit: int) -> str:
    """Return the text without NUL and lone surrogates, which PostgreSQL cannot store, cut with an ellipsis."""
    return truncate(text.replace("\0", "").encode(errors="replace").decode(), limit)
