from __future__ import annotations

from collections.abc import Iterator

import pytest

from finops.receipts import records


@pytest.fixture(autouse=True)
def _no_receipts_before() -> Iterator[None]:
    records.forget()
    yield
    records.forget()
