from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.mcpserver.door import Door, mint, toy_server
from tests.mcpserver.toys import make_toys


@pytest.fixture
def door(cast: Cast) -> Door:
    """The door to the toy tools and a prompt, with a Read key."""
    return Door(mint(cast), toy_server(make_toys(prompts=True)))


@pytest.fixture
def bare(cast: Cast) -> Door:
    """The same without prompts."""
    return Door(mint(cast), toy_server(make_toys()))
