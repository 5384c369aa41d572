"""Receipts of answers: what one costs a call of querySpend whose result is kept, through HTTP and in this process.

The same question is asked with its receipt issued and stored, and without one; they take turns. The question is the same
each time (its receipt is stored once), or one of as many as there are calls (each has a receipt of its own).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from itertools import count
from unittest.mock import patch

from django.conf import settings
from django.test import Client

from accounts.keys import mint_mcp_key
from accounts.scoping import account_scope
from benchmarks.table import Row, timings
from finops.receipts import records
from tests.cast import make_cast
from tests.world.costs import add_source, cost
from tests.world.days import days

TURNS, CALLS = 9, 80
DAYS = days(date(2025, 1, 1), date(2025, 3, 31))


def measure() -> list[Row]:
    settings.MCP_RATE_LIMIT_PER_MINUTE = 100_000_000
    settings.ACTIVITY_WRITE_SECONDS = 0
    cast = make_cast()
    with account_scope(cast.account):
        add_source(cast.account, [cost(day, 3, service=f"Service {n}") for day in DAYS for n in range(8)])
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name="bench", scope="read")
    return [
        _row("the same question", plaintext, lambda: 10),
        _row("each another question", plaintext, _tops()),
    ]


def _tops() -> Callable[[], int]:
    """A `top` that a question with few groups does not notice: another question, the same sums."""
    numbers = count()
    return lambda: 10 + next(numbers) % 40


def _row(name: str, key: str, top: Callable[[], int]) -> Row:
    def ask() -> None:
        for _ in range(CALLS):
            _ask(key, top())
        records.recorder.flush()

    def without() -> None:
        with _no_receipts():
            ask()

    taken = timings(TURNS, without=without, receipts=ask)
    return {
        "calls": name,
        "without ms": taken["without"].cpu / CALLS,
        "with ms": taken["receipts"].cpu / CALLS,
        "with / without": round(taken["receipts"].cpu / taken["without"].cpu, 3),
    }


@contextmanager
def _no_receipts() -> Iterator[None]:
    with patch("mcpserver.execution.receipt_of", lambda *_call: None):
        yield


def _ask(key: str, top: int) -> None:
    arguments = {
        "start_date": "2025-01-01",
        "end_date": "2025-03-31",
        "granularity": "month",
        "group_by": ["service"],
        "top": top,
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "querySpend", "arguments": arguments},
    }
    answer = Client().post(
        "/api/mcp",
        json.dumps(message),
        content_type="application/json",
        headers={"authorization": f"Bearer {key}"},
    )
    assert not answer.json()["result"]["isError"], answer.content
