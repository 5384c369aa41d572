from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostSource
from finops.lib import clock
from tests.cast import Cast

NOON = datetime(2026, 3, 20, 12, tzinfo=UTC)


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 20 March 2026."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def source(cast: Cast) -> Iterator[CostSource]:
    """An empty cost source of Acme, in scope, for importing into."""
    row = services.create_cost_source(account=cast.account, name="Bills", actor=cast.actor)
    with account_scope(cast.account):
        yield row
