from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops.celery import app
from finops.lib import clock
from tests.cast import Cast
from tests.finops.alerts.world import channel
from tests.finops.costs.conftest import NOON
from tests.receivers import MailServer, Receiver, http_receiver, smtp_server


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope with the channel Ops, at noon of 20 March 2026, a Friday."""
    with account_scope(cast.account), clock.frozen(NOON):
        channel(cast.account)
        yield cast.account


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A web server of this machine, which channels may lead to."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]
    with http_receiver() as served:
        yield served


@pytest.fixture
def mail_server(settings: Settings) -> Iterator[MailServer]:
    """A mail server of this machine, which takes what the console sends."""
    with smtp_server() as served:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", served.port
        yield served


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Arguments of the tasks that workers were told of."""
    task_arguments: list[list[int]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **rest: task_arguments.append(args))
    return task_arguments
