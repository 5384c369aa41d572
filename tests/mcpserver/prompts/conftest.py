from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from accounts.keys import mint_mcp_key
from finops.demo.loading import load
from finops.lib import clock
from tests.cast import Cast, make_cast
from tests.mcpserver.door import Door, mint
from tests.mcpserver.prompts import world

DEMO_NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
DEMO_MONTHS = 2


@contextmanager
def lasting(blocker: DjangoDbBlocker, var: Path, now: datetime) -> Iterator[None]:
    """Rows and files that many tests see, each in a transaction of its own inside; gone at the end."""
    with (
        override_settings(VAR_DIR=var, LAKE_URL=str(var / "lake")),
        clock.frozen(now),
        blocker.unblock(),
        transaction.atomic(),
    ):
        yield
        transaction.set_rollback(True)


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
