from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.ingestion.push_client import PushClient, create_push_client


@pytest.fixture
def push_client(cast: Cast) -> PushClient:
    """A client of the push endpoint with a valid key of Acme."""
    return create_push_client(cast)
