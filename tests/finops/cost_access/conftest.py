"""A pair of accounts for each module: with the lines outside of the limit, and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from finops.lib import clock
from tests.cast import make_cast
from tests.factories.cost_access import Pair, make_pair
from tests.factories.days import NOON
from tests.factories.module_scope import module_account


@pytest.fixture(scope="module")
def module_pair(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pair]:
    with module_account(django_db_blocker, tmp_path_factory.mktemp("cost-access"), NOON):
        yield make_pair(make_cast())


@pytest.fixture
def pair(module_pair: Pair, db: None) -> Iterator[Pair]:
    with clock.frozen(NOON):
        yield module_pair
