"""What receipts cost an answer (ADR 0080): processor time of the thread that answers `querySpend` over REST, in turns of random order.

*Without* issues none, *again* issues one that is stored already, *new* one that is not and waits for the writer's thread. The column
of the writer is the time of that thread for one receipt alone; it stores all of half a second by one statement. PostgreSQL's own
time is in none of them.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from statistics import median
from time import thread_time
from typing import Any, Final
from unittest.mock import patch

from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.test import override_settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from benchmarks.bench_telemetry import Call, percent, post
from benchmarks.table import Row
from finops.demo.people import SLUG, demo_account, demo_user
from finops.lib.call_stack import in_one_chunk
from finops.receipts import records
from mcpserver import execution
from tests.live_settings import STORAGES

SECONDS: Final = float(os.environ.get("BENCH_SECONDS", "25"))
"""Processor time of a question."""
CALLS: Final = 5
VARIANTS: Final = ("without", "again", "new")
QUESTIONS: Final[dict[str, dict[str, Any]]] = {
    "month to date": {},
    "last month by service, compared": {
        "period": "last_month",
        "group_by": ["service"],
        "compare_to": "previous_period",
    },
}


def measure() -> list[Row]:
    logging.disable(logging.WARNING)
    call_command("load_demo", verbosity=0)
    account, owner = demo_account(SLUG), demo_user()
    if account is None or owner is None:
        raise RuntimeError("The demo data has no account.")
    key = mint_mcp_key(account=account, actor=Actor.of_user(owner), name="bench")[1]
    limits = {"MCP_RATE_LIMIT_PER_MINUTE": 10**9, "ACTIVITY_WRITE_SECONDS": 0}
    with override_settings(STORAGES=STORAGES, ALLOWED_HOSTS=["*"], **limits):
        row = in_one_chunk(_row)
        return [
            row(name, post("/api/v1/tools/querySpend", json.dumps(arguments).encode(), key))
            for name, arguments in QUESTIONS.items()
        ]


def _row(name: str, call: Call) -> Row:
    handler, shuffled = WSGIHandler(), Random(1)
    seconds: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    writer: list[float] = []
    began = thread_time()
    while thread_time() - began < SECONDS:
        for variant in shuffled.sample(VARIANTS, len(VARIANTS)):
            with _variant(variant):
                seconds[variant].append(_time(lambda: call(handler)))
            if variant == "new":
                writer.append(_time(records.recorder.flush, calls=1))
    without, again, new = (seconds[variant] for variant in VARIANTS)
    return {
        "question": name,
        "turns": len(without),
        "without, µs of CPU": round(median(without)),
        "again, %": percent(again, without),
        "new, %": percent(new, without),
        "writer, µs": round(median(writer)),
    }


def _time(call: Callable[[], object], calls: int = CALLS) -> float:
    """Microseconds of a call."""
    began = thread_time()
    for _ in range(calls):
        call()
    return (thread_time() - began) * 1_000_000 / calls


@contextmanager
def _variant(variant: str) -> Iterator[None]:
    if variant == "new":
        # Known as stored only once the writer has stored it: each call of the turn queues it.
        records.forget()
    if variant == "without":
        with patch.object(execution, "receipt_of", lambda *_: None):
            yield
    else:
        yield
