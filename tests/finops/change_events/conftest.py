from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.finops.change_events.event_client import EventClient, create_event_client


@pytest.fixture
def event_client(cast: Cast) -> EventClient:
    """A client of the events endpoint with a valid key of Acme."""
    return create_event_client(cast)
