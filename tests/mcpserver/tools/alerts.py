"""Shared parts of the tests of the alert tools."""

from __future__ import annotations

from typing import Any

import msgspec

from accounts.models import Account
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.lib import clock
from tests.factories.deliveries import message


def delivery(account: Account, ops: AlertChannel | None, status: str = "failed", /, **changes: Any) -> int:
    fields = {
        "channel": ops,
        "channel_name": "Ops",
        "channel_kind": "email",
        "message": message_dict(),
        "status": status,
        "next_attempt_at": None if status != "waiting" else clock.now(),
        "delivered_at": clock.now() if status == "delivered" else None,
        "attempts": [
            {"at": clock.now().isoformat(), "seconds": 0.25, "status_code": 503, "answer": "Busy " * 60}
        ],
    }
    return AlertDelivery.objects.create(account=account, **{**fields, **changes}).pk


def message_dict() -> dict[str, Any]:
    return dict(msgspec.to_builtins(message()))
