"""Rows of alerts."""

from __future__ import annotations

import secrets
from datetime import timedelta

import msgspec

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.channel_targets import EmailTarget, WebhookTarget, seal_target
from finops.alerts.events.targets import seal_target as seal_event_target
from finops.alerts.messages import Message
from finops.alerts.models import (
    AlertChannel,
    AlertDelivery,
    AlertRecipient,
    AlertSubscription,
    EventSubscription,
)
from finops.lib import clock


def alert_subscription(account: Account) -> int:
    with account_scope(account):
        return AlertSubscription.objects.create(
            account=account,
            channel_id=alert_channel(account),
            trigger="digest",
            frequency="weekly",
            fingerprint=secrets.token_hex(32),
        ).pk


def alert_recipient(account: Account) -> int:
    with account_scope(account):
        address = f"walk-{secrets.token_hex(4)}@example.com"
        return AlertRecipient.objects.create(account=account, address=address).pk


def alert_channel(account: Account) -> int:
    target = seal_target(EmailTarget(addresses=("walk@example.com",)), account.pk)
    with account_scope(account):
        return AlertChannel.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", kind="email", target=target
        ).pk


def event_subscription(account: Account) -> int:
    target = WebhookTarget(url="https://walk.example/x", signing_secret="whsec_d2Fsaw==")
    with account_scope(account):
        return EventSubscription.objects.create(
            account=account,
            public_id=f"sub_{secrets.token_hex(16)}",
            event="import.finished",
            target=seal_event_target(target, account.pk),
            credential_label="walk",
            verified_at=clock.now(),
            expires_at=clock.now() + timedelta(hours=1),
        ).pk


def alert_delivery(account: Account) -> int:
    message = Message(title="walk", summary="", url="https://walk.example/", kind="test", dedup_key="walk")
    with account_scope(account):
        return AlertDelivery.objects.create(
            account=account,
            channel_id=alert_channel(account),
            channel_name="walk",
            channel_kind="email",
            message=msgspec.to_builtins(message),
        ).pk
