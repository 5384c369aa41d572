from __future__ import annotations

from collections.abc import Iterator

import pytest

from finops.activity.recorder import recorder


@pytest.fixture(autouse=True)
def _empty_recorder() -> Iterator[None]:
    recorder.forget()
    yield
    recorder.forget()
