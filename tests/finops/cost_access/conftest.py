"""One pair of accounts a module: with the lines outside of the limit, and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from finops.lib import clock
from tests.cast import make_cast
from tests.world.cost_access import Pair, make_pair
from tests.world.days import NOON
from tests.world.module_scope import module_world


@pytest.fixture(scope="module")
def world(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    with module_world(django_db_blocker, tmp_path_factory.mktemp("cost-access"), NOON):
        yield make_pair(make_cast())


@pytest.fixture
def pair(world: Pair, db: None) -> Iterator[Pair]:
    with clock.frozen(NOON):
        yield world
