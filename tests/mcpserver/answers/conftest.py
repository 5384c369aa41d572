from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast
from tests.mcpserver.answers.questions import NOON
from tests.mcpserver.door import Door, mint


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with clock.frozen(NOON), account_scope(cast.account):
        yield cast.account


@pytest.fixture
def ask(cast: Cast) -> Door:
    return Door(mint(cast, "read_write"))
