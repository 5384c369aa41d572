"""Reports of errors to Sentry, or to a service with its protocol (GlitchTip), where SENTRY_DSN is set.

Every failure is logged as an error, so only the log is reported: requests are not read, so no body, cookie, header, address
or person can be sent. Only this module imports sentry_sdk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import sentry_sdk
from django.conf import settings
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.integrations.dedupe import DedupeIntegration
from sentry_sdk.integrations.excepthook import ExcepthookIntegration
from sentry_sdk.integrations.logging import LoggingIntegration

from finops.lib.redaction import without_secrets
from finops.lib.telemetry import context

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_VALUES: Final = re.compile(r"\n(?:LINE \d+|DETAIL|HINT|CONTEXT):.*", re.DOTALL)
"""The part of PostgreSQL's messages that contains the values of a row."""


def start() -> None:
    """Start reporting errors of this process. Raises sentry_sdk.utils.BadDsn for an invalid DSN."""
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        environment="production" if settings.PRODUCTION else "development",
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            LoggingIntegration(level=None),
            ExcepthookIntegration(),
            AtexitIntegration(callback=lambda pending, timeout: None),
            DedupeIntegration(),
        ],
        max_request_body_size="never",
        include_local_variables=False,
        max_breadcrumbs=0,
        before_send=without_personal_data,
    )


def without_personal_data(event: Event, hint: Hint) -> Event:
    """Return the report without the log's arguments: the text with its placeholders, the traceback, the request id, account
    and task. No secret, no email address, no value of a row."""
    report: Any = event
    for name in ("extra", "request", "user", "breadcrumbs", "server_name"):
        report.pop(name, None)
    if "logentry" in report:
        report["logentry"] = {"message": _clean(str(report["logentry"]["message"]))}
    for exception in report.get("exception", {}).get("values", []):
        exception["value"] = _clean(str(exception.get("value") or ""))
    work = context.current()
    if work is not None:
        report["tags"] = {name: str(value) for name, value in work.fields.items()}
    return event


def _clean(text: str) -> str:
    return _ADDRESS.sub("[address]", without_secrets(_VALUES.sub("", text)))
