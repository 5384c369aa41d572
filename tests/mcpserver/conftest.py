from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.mcpserver.door import Door, mint, toy_server
from tests.mcpserver.toys import make_toys


@pytest.fixture
def door(cast: Cast) -> Door:
    """The real door, with a Read key."""
    return Door(mint(cast))


@pytest.fixture
def writer(cast: Cast) -> Door:
    """The real door, with a Read and write key."""
    return Door(mint(cast, "read_write"))


@pytest.fixture
def toys(cast: Cast) -> Door:
    """The door to the toy tools, with a Read key."""
    return Door(mint(cast), toy_server(make_toys()))


@pytest.fixture
def writing_toys(cast: Cast) -> Door:
    return Door(mint(cast, "read_write"), toy_server(make_toys()))
