"""A question to a tool about one week, and its answer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.mcpserver.door import Door

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
WEEK = {"start_date": "2026-03-11", "end_date": "2026-03-17"}


def answer_of(door: Door, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = door.call(tool, **arguments)
    assert not result["isError"], result["content"][0]["text"]
    answer: dict[str, Any] = result["structuredContent"]
    return answer
