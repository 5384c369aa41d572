from __future__ import annotations

import pytest

from tests.cast import Cast
from tests.finops.connections.pushes.push_steps import CostPushClient, create_cost_client


@pytest.fixture
def cost_client(cast: Cast) -> CostPushClient:
    return create_cost_client(cast)
