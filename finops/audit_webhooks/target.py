"""The sealed target of an audit log webhook: the format of alerts' webhook channels, with a purpose of its own."""

from __future__ import annotations

import msgspec

from finops.alerts.channel_targets import WebhookTarget
from finops.audit_webhooks.models import AuditWebhook
from finops.lib import sealing


def seal_target(target: WebhookTarget, account_id: int) -> str:
    return sealing.seal(msgspec.to_builtins(target), purpose=_purpose(account_id))


def target_of(row: AuditWebhook) -> WebhookTarget:
    """Return the target. Raises sealing.Unsealable when the server's key no longer exists."""
    return msgspec.convert(sealing.unseal(row.target, purpose=_purpose(row.account_id)), type=WebhookTarget)


def is_sealed_now(row: AuditWebhook) -> bool:
    return sealing.is_current(row.target, purpose=_purpose(row.account_id))


def _purpose(account_id: int) -> str:
    return f"audit log webhook of account {account_id}"
