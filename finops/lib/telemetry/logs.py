"""How log records are written: plain in development, as JSON in production (`json_logs`), never with secrets."""

from __future__ import annotations

import logging.config
import os
from typing import Any, Final

from finops.lib.redaction import without_secrets
from finops.lib.telemetry import metrics

PACKAGES: Final = ("finops", "accounts", "ingestion", "mcpserver")
"""Whose loggers have LOG_LEVEL."""
FORMATTERS: Final = {"json": "json_logs.JsonFormatter", "plain": "logs.PlainFormatter"}
"""By LOG_FORMAT. By name: what formats JSON is imported where it is wanted."""
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


def configure(lines: dict[str, Any]) -> None:
    """Log by this `configuration` from now on, Python's warnings too. Django calls it (LOGGING_CONFIG)."""
    logging.config.dictConfig(lines)
    logging.captureWarnings(True)


def default_form(*, production: bool) -> str:
    return "json" if production else "plain"


def environment_configuration() -> dict[str, Any]:
    """As the settings have it, for programs that load none: the supervisor of web processes, and granian before it loads
    Django. Raises ValueError as `configuration` does."""
    production = os.environ.get("FINOPS_ENV") == "production"
    form = os.environ.get("LOG_FORMAT", default_form(production=production))
    return configuration(form=form, level=os.environ.get("LOG_LEVEL", "INFO"))


def configuration(*, form: str, level: str) -> dict[str, Any]:
    """What `logging.config.dictConfig` and Django's LOGGING take. Libraries log from WARNING on: at INFO those of HTTP name each
    address, and an address of a webhook is a secret. Raises ValueError for a form or level that there is not."""
    if form not in FORMATTERS:
        raise ValueError(f"LOG_FORMAT is {form!r}. Set json or plain.")
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"LOG_LEVEL is {level!r}. Set DEBUG, INFO, WARNING or ERROR.")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"finops.lib.telemetry.{FORMATTERS[form]}"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "line"},
            "counter": {"class": f"{RecordCounter.__module__}.{RecordCounter.__name__}", "level": "WARNING"},
        },
        "root": {"handlers": ["console", "counter"], "level": max(number, logging.WARNING)},
        "loggers": {name: {"level": number} for name in PACKAGES},
    }
