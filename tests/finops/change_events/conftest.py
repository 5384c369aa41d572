from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.finops.change_events.event_client import EventDoor, open_event_door


@pytest.fixture
def door(cast: Cast) -> EventDoor:
    """The events door of Acme, with a living key."""
    return open_event_door(cast)
