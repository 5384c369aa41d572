from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.ingestion.push_client import Door, open_door


@pytest.fixture
def door(cast: Cast) -> Door:
    """The push door of Acme, with a living key."""
    return open_door(cast)
