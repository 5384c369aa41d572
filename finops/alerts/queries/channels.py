"""The channels of an account, without their secrets."""

from __future__ import annotations

from datetime import datetime

import msgspec
from django.db.models import Count

from accounts.models import Account
from finops.alerts.models import AlertChannel


class ChannelRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    kind: str
    kind_label: str
    shown_target: str
    tested_at: datetime | None
    subscriptions: int
    created_at: datetime
    created_by: str


def channels(account: Account) -> list[ChannelRow]:
    """Return all channels, by name. One query."""
    rows = AlertChannel.objects.filter(account=account).select_related("created_by")
    return [_row(each) for each in rows.annotate(count=Count("subscriptions")).order_by("name")]


def _row(channel: AlertChannel) -> ChannelRow:
    return ChannelRow(
        id=channel.pk,
        name=channel.name,
        kind=channel.kind,
        kind_label=channel.get_kind_display(),
        shown_target=channel.shown_target,
        tested_at=channel.tested_at,
        subscriptions=getattr(channel, "count", 0),
        created_at=channel.created_at,
        created_by=channel.created_by.email if channel.created_by else "",
    )
