from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.mcpserver.mcp_client import mint
from tests.mcpserver.rest.rest_client import RestClient


@pytest.fixture
def reader(cast: Cast) -> RestClient:
    return RestClient(mint(cast))


@pytest.fixture
def writer(cast: Cast) -> RestClient:
    return RestClient(mint(cast, "read_write"))
