from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from finops.lib import clock
from tests.cast import Cast, make_cast
from tests.factories.bills import Bills
from tests.factories.module_scope import module_account
from tests.isolation.marks import fill_with_marks
from tests.mcpserver.mcp_client import McpClient, mint, toy_server
from tests.mcpserver.toys import make_toys


@pytest.fixture(scope="module")
def account_with_marks(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cast]:
    """The cast, whose account has cost and usage: which the tests of a module only read."""
    with module_account(django_db_blocker, tmp_path_factory.mktemp("marked"), clock.now()):
        cast = make_cast()
        fill_with_marks(cast.account)
        yield cast


@pytest.fixture
def mcp_client(cast: Cast) -> McpClient:
    """A client of the real endpoint, with a Read key."""
    return McpClient(mint(cast))


@pytest.fixture
def writer(cast: Cast) -> McpClient:
    """A client of the real endpoint, with a Read and write key."""
    return McpClient(mint(cast, "read_write"))


@pytest.fixture
def toys(cast: Cast) -> McpClient:
    """A client of the toy tools, with a Read key."""
    return McpClient(mint(cast), toy_server(make_toys()))


@pytest.fixture
def writing_toys(cast: Cast) -> McpClient:
    return McpClient(mint(cast, "read_write"), toy_server(make_toys()))


@pytest.fixture
def bills(cast: Cast, tmp_path: Path) -> Bills:
    """Bills that the test imports."""
    return Bills(cast, tmp_path)
