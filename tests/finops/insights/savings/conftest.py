from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops.connections.transports import http
from finops.lib import clock
from tests.cast import Cast
from tests.finops.connections.replay_server import ReplayServer, replay_server
from tests.finops.insights.savings.bills import NOON


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 1 March 2026."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def replay(settings: Settings) -> Iterator[ReplayServer]:
    """A cloud's API on this machine, and its token server."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with replay_server() as server:
        yield server


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the transport would have slept."""
    slept: list[float] = []
    monkeypatch.setattr(http, "sleep", slept.append)
    return slept
