"""How log records are written: plain in development, as JSON in production (`json_logs`), never with secrets."""

from __future__ import annotations

import logging
from typing import Any, Final

from finops.lib.redaction import without_secrets
from finops.lib.telemetry import metrics

PLAIN: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class RecordCounter(logging.Handler):
    """Counts records, from WARNING on, as a metric."""

    def emit(self, record: logging.LogRecord) -> None:
        metrics.LOG_RECORDS.inc(record.levelname.lower())


class PlainFormatter(logging.Formatter):
    """For a person at a terminal. Without secrets too."""

    def __init__(self) -> None:
        super().__init__(PLAIN)

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def configuration(*, json: bool, level: str) -> dict[str, Any]:
    """What `logging.config.dictConfig` and Django's LOGGING take."""
    # By name: what formats JSON is imported where it is wanted.
    formatter = "json_logs.JsonFormatter" if json else "logs.PlainFormatter"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"finops.lib.telemetry.{formatter}"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "line"},
            "counter": {"class": f"{RecordCounter.__module__}.{RecordCounter.__name__}", "level": "WARNING"},
        },
        "root": {"handlers": ["console", "counter"], "level": level},
    }
