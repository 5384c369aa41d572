from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.mcpserver.events.callback import Callback, callback_server


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 20 March 2026."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def callback(settings: Settings) -> Iterator[Callback]:
    """The callback of an assistant on this machine, which the address guard refuses by itself."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with callback_server() as served:
        yield served
