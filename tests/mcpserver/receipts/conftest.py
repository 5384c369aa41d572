from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finops.receipts import records
from tests.cast import Cast
from tests.factories.bills import Bills
from tests.factories.days import at
from tests.mcpserver.mcp_client import McpClient
from tests.mcpserver.receipts.receipt_client import ASKED, SEPTEMBER, ask, september


@pytest.fixture(autouse=True)
def _no_receipts_before() -> Iterator[None]:
    records.forget()
    yield
    records.forget()


@pytest.fixture
def bills(cast: Cast, tmp_path: Path) -> Bills:
    """September, imported on the 3rd of October."""
    bills = Bills(cast, tmp_path)
    bills.bring("AWS", september("100.10"), on=ASKED)
    return bills


@pytest.fixture
def first_answer(bills: Bills, mcp_client: McpClient) -> dict[str, Any]:
    """What querySpend answered on that day."""
    with at(ASKED):
        return ask(mcp_client, **SEPTEMBER)
