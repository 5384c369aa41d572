from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.mcpserver.answers.questions import NOON


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with clock.frozen(NOON), account_scope(cast.account):
        yield cast.account
