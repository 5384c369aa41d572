from __future__ import annotations

from collections.abc import Iterator

import pytest

from finops.activity.recorder import recorder


@pytest.fixture(autouse=True)
def _nothing_noted_before() -> Iterator[None]:
    recorder.forget()
    yield
    recorder.forget()
