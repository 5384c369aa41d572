from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.ingestion.push_client import Door, open_door

NOON = datetime(2026, 3, 20, 12, tzinfo=UTC)


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 20 March 2026."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def door(cast: Cast) -> Door:
    """The push door of Acme, with a living key."""
    return open_door(cast)
