from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of tests that are coroutines: the server's own library."""
    return "asyncio"
