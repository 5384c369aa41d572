"""The sealed target of an event subscription: callback and signing secret, which the client chose."""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec

from finops.alerts.channel_targets import WebhookTarget
from finops.alerts.models import EventSubscription
from finops.lib import sealing
from finops.lib.errors import UserError

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = range(24, 65)


def check_secret(secret: str) -> None:
    """Raises UserError for a value that is not a signing secret of Standard Webhooks."""
    try:
        decoded = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not secret.startswith(PREFIX) or len(decoded) not in SECRET_BYTES:
        raise UserError(
            "delivery.secret: send whsec_ and the base64 of 24 to 64 random bytes.", field="delivery.secret"
        )


def seal_target(target: WebhookTarget, account_id: int) -> str:
    return sealing.seal(msgspec.to_builtins(target), purpose=_purpose(account_id))


def target_of(row: EventSubscription) -> WebhookTarget:
    """Return the target. Raises sealing.Unsealable when the server's key no longer exists."""
    return msgspec.convert(sealing.unseal(row.target, purpose=_purpose(row.account_id)), type=WebhookTarget)


def is_sealed_now(row: EventSubscription) -> bool:
    return sealing.is_current(row.target, purpose=_purpose(row.account_id))


def _purpose(account_id: int) -> str:
    return f"event subscription of account {account_id}"
