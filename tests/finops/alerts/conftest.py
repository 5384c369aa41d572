from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops.celery import app
from finops.lib import clock
from tests.cast import Cast
from tests.factories.alerts import create_channel
from tests.factories.days import NOON
from tests.receivers import MailServer, smtp_server


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope with the channel Ops, at noon of 20 March 2026, a Friday."""
    with account_scope(cast.account), clock.frozen(NOON):
        create_channel(cast.account)
        yield cast.account


@pytest.fixture
def mail_server(settings: Settings) -> Iterator[MailServer]:
    """A mail server of this machine, which takes what the console sends."""
    with smtp_server() as served:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", served.port
        yield served


@pytest.fixture
def task_arguments(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Arguments of the tasks that were sent to workers."""
    arguments: list[list[int]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **options: arguments.append(args))
    return arguments
