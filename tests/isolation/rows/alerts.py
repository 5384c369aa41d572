"""Rows of alerts."""

from __future__ import annotations

import secrets

import msgspec

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.channel_targets import EmailTarget, seal_target
from finops.alerts.messages import Message
from finops.alerts.models import AlertChannel, AlertDelivery, AlertRecipient, AlertSubscription


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
