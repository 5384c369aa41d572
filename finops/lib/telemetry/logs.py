"""The format of log records: plain in development, JSON in production (`json_logs`), never with secrets."""

from __future__ import annotations

import logging.config
import os
from typing import Any, Final

from finops.lib.redaction import without_secrets
from finops.lib.telemetry import context, metrics

PACKAGES: Final = ("finops", "accounts", "ingestion", "mcpserver")
"""Packages whose loggers have LOG_LEVEL."""
FORMATTERS: Final = {"json": "json_logs.JsonFormatter", "plain": "logs.PlainFormatter"}
"""Formatters by LOG_FORMAT. They are dotted paths, so the JSON formatter is imported only when it is used."""
PLAIN: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class RecordCounter(logging.Handler):
    """Handler that counts records of level WARNING and above as a metric."""

    def emit(self, record: logging.LogRecord) -> None:
        metrics.LOG_RECORDS.inc(record.levelname.lower())


class RefusalFilter(logging.Filter):
    """Filter for Django's record of each response with an error: finops.web.admission counts refused requests, of which there
    may be a hundred a second, in a warning a second."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        return request is None or context.REFUSAL not in request.META


class PlainFormatter(logging.Formatter):
    """Formatter for a person at a terminal. Hides secrets too."""

    def __init__(self) -> None:
        super().__init__(PLAIN)

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def _record(name: str, level: int, *values: Any, **options: Any) -> logging.LogRecord:
    """Return a record. Django logs a refused request with a traceback, some as an error (`django.security.<exception>`): a
    stranger would fill the log and raise alarms. Not a filter: it would not apply to the loggers below a logger."""
    record = logging.LogRecord(name, level, *values, **options)
    if name.startswith("django.security.") or (name == "django.request" and level < logging.ERROR):
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.exc_info = None
    return record


def configure(lines: dict[str, Any]) -> None:
    """Apply this logging `configuration`, also to Python's warnings. Django calls it (LOGGING_CONFIG)."""
    logging.setLogRecordFactory(_record)
    logging.config.dictConfig(lines)
    logging.captureWarnings(True)


def default_form(*, production: bool) -> str:
    return "json" if production else "plain"


def environment_configuration() -> dict[str, Any]:
    """Return the same configuration as the settings, for programs that load none: the supervisor of web processes, and
    granian before it loads Django. Raises ValueError as `configuration` does."""
    production = os.environ.get("FINOPS_ENV") == "production"
    form = os.environ.get("LOG_FORMAT", default_form(production=production))
    return configuration(form=form, level=os.environ.get("LOG_LEVEL", "INFO"))


def configuration(*, form: str, level: str) -> dict[str, Any]:
    """Return the configuration for `logging.config.dictConfig` and Django's LOGGING. Libraries log from WARNING on: at INFO
    those of HTTP name each address, and the address of a webhook is a secret. Raises ValueError for an unknown format or
    level."""
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
        "filters": {"refusals": {"()": f"{__name__}.{RefusalFilter.__name__}"}},
        "root": {"handlers": ["console", "counter"], "level": max(number, logging.WARNING)},
        "loggers": {
            **{name: {"level": number} for name in PACKAGES},
            "django.request": {"filters": ["refusals"]},
        },
    }
