"""An assistant that asks, and verifies a while later."""

from __future__ import annotations

from typing import Any

from finops.receipts import records
from tests.mcpserver.door import Door


def ask(door: Door, tool: str = "querySpend", /, **arguments: Any) -> dict[str, Any]:
    """An answer whose receipt is stored."""
    answer = door.ask(tool, **arguments)
    assert records.recorder.flush()
    return answer


def verify(door: Door, answer: dict[str, Any]) -> dict[str, Any]:
    return door.ask("verifyAnswer", receipt=answer["receipt"])
