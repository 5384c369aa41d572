"""Queries on notifications. The account must be in scope."""

from __future__ import annotations

from typing import Final

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from accounts.models import Membership, Role
from finops.notifications.models import Notification, NotificationRead, NotificationReader

MOST_COUNTED: Final = 100


def notifications_of(membership: Membership) -> QuerySet[Notification]:
    """Notifications since the person joined the account that their role may read, the newest first, each with `is_read`."""
    is_read = ExpressionWrapper(_is_read(membership), output_field=BooleanField())
    return _since_membership(membership).annotate(is_read=is_read)


def unread_count(membership: Membership) -> int:
    """The number of the person's unread notifications, at most MOST_COUNTED. One query."""
    unread = _since_membership(membership).exclude(_is_read(membership)).order_by()
    return unread.values("pk")[:MOST_COUNTED].count()


def _since_membership(membership: Membership) -> QuerySet[Notification]:
    rows = Notification.objects.filter(created_at__gte=membership.created_at)
    return rows if membership.may(Role.ADMIN) else rows.filter(admins_only=False)


def _is_read(membership: Membership) -> Q:
    reader = NotificationReader.objects.filter(
        user=membership.user_id, read_until__gte=OuterRef("created_at")
    )
    read = NotificationRead.objects.filter(user=membership.user_id, notification=OuterRef("pk"))
    return Q(Exists(reader)) | Q(Exists(read))
