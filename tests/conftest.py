from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from finops.lib.ratelimit import windows
from tests.cast import Cast, make_cast, signed_in
from tests.servers import live_server_process

__all__ = ["live_server_process"]


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def _fresh_limits() -> None:
    """No test waits for what another one asked: all of them come from one address."""
    windows.cache_clear()


@pytest.fixture
def client_for() -> Callable[[User], Client]:
    return signed_in
