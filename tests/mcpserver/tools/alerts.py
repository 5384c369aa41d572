"""What the tests of the alert tools share."""

from __future__ import annotations

from typing import Any

import msgspec

from accounts.models import Account
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.lib import clock
from mcpserver.results import MAX_ANSWER_BYTES
from tests.finops.alerts.delivery_helpers import message
from tests.mcpserver.door import Door


def answer_of(door: Door, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = door.call(tool, **arguments)
    assert not result["isError"], result["content"][0]["text"]
    assert len(result["content"][0]["text"].encode()) <= MAX_ANSWER_BYTES
    answer: dict[str, Any] = result["structuredContent"]
    return answer


def delivery(account: Account, ops: AlertChannel | None, status: str = "failed", /, **rest: Any) -> int:
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
    return AlertDelivery.objects.create(account=account, **{**fields, **rest}).pk


def message_dict() -> dict[str, Any]:
    return dict(msgspec.to_builtins(message()))
