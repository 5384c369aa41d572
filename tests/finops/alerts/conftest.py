from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.finops.alerts.world import channel
from tests.finops.costs.conftest import NOON


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope with the channel Ops, at noon of 20 March 2026, a Friday."""
    with account_scope(cast.account), clock.frozen(NOON):
        channel(cast.account)
        yield cast.account
