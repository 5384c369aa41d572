from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source
from tests.cast import Cast
from tests.receivers import Receiver, http_receiver


@pytest.fixture
def source(cast: Cast) -> Iterator[CostSource]:
    """An empty cost source of Acme, in scope."""
    row = create_cost_source(account=cast.account, name="Bills", actor=cast.actor)
    with account_scope(cast.account):
        yield row


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A web server of this machine, which channels may lead to."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.1/32"]
    with http_receiver() as server:
        yield server
