from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pytest_django import DjangoDbBlocker

from accounts.keys import mint_mcp_key
from finops.demo.loader import load
from finops.lib import clock
from tests.cast import Cast, make_cast
from tests.lasting import lasting
from tests.mcpserver.door import Door, mint
from tests.mcpserver.prompts import world

DEMO_NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
DEMO_MONTHS = 2


@pytest.fixture(scope="module")
def demo(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The demo company; what it hands out, with keys by scope."""
    with lasting(django_db_blocker, tmp_path_factory.mktemp("demo"), DEMO_NOW):
        yield load(lambda _line: None, months=DEMO_MONTHS).handout


@pytest.fixture(scope="module")
def small(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cast]:
    """The cast, whose account has the small world."""
    with lasting(django_db_blocker, tmp_path_factory.mktemp("small"), world.NOW):
        cast = make_cast()
        world.fill(cast.account)
        yield cast


@pytest.fixture
def cast(small: Cast, db: None) -> Cast:
    return small


@pytest.fixture
def door(cast: Cast) -> Iterator[Door]:
    with clock.frozen(world.NOW):
        yield Door(mint(cast))


@pytest.fixture
def empty(cast: Cast) -> Iterator[Door]:
    """The door to an account that has nothing."""
    key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="stranger")[1]
    with clock.frozen(world.NOW):
        yield Door(key)
