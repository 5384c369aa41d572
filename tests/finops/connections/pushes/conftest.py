from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.finops.connections.pushes.push_steps import CostDoor, open_door


@pytest.fixture
def door(cast: Cast) -> CostDoor:
    return open_door(cast)
