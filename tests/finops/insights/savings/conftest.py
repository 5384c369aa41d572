from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.finops.insights.savings.bills import NOON


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 1 March 2026."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account
