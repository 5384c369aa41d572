from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.receivers import Receiver, http_receiver


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    """Receivers of tests are on this machine, which the SSRF guard refuses by itself."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as server:
        yield server
