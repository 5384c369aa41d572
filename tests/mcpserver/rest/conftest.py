from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.mcpserver.door import mint
from tests.mcpserver.rest.rest_client import RestDoor


@pytest.fixture
def reader(cast: Cast) -> RestDoor:
    return RestDoor(mint(cast))


@pytest.fixture
def writer(cast: Cast) -> RestDoor:
    return RestDoor(mint(cast, "read_write"))
