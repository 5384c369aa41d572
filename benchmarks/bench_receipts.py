"""What receipts cost an answer (ADR 0080): processor time of the thread that answers `querySpend` over REST, in turns of random order.

*Without* issues none, *again* issues one that is stored already, *new* one that is not and waits for the writer's thread; their answers are
computed each time. *Cached* is a repeated question as the product answers it (ADR 0009). *Receipt* is the
time inside the two functions that issue one, of turns of their own: it is exact to a microsecond where the difference of whole calls
shakes by more than it is. The column of the writer is the time of that thread for one receipt alone; it stores all of half a second by
one statement. PostgreSQL's own time is in none of them. *Statements* is how many more a call with a receipt has than one without.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from statistics import median
from time import thread_time
from typing import Any, Final
from unittest.mock import patch

from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from benchmarks.bench_telemetry import Call, percent, post
from benchmarks.table import Row
from finops.demo.people import SLUG, demo_account, demo_user
from finops.lib.call_stack import in_one_chunk
from finops.receipts import records
from mcpserver import cached_answers, execution, results
from mcpserver.receipts.issue import ReceiptIssuer, receipt_of
from tests.live_settings import STORAGES

SECONDS: Final = float(os.environ.get("BENCH_SECONDS", "8"))
"""Processor time of a query."""
CALLS: Final = 5
RECEIPTS: Final = 500
VARIANTS: Final = ("without", "again", "new", "cached")
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
    start = thread_time()
    while thread_time() - start < SECONDS:
        for variant in shuffled.sample(VARIANTS, len(VARIANTS)):
            with _variant(variant):
                seconds[variant].append(_time(lambda: call(handler)))
            if variant == "new":
                writer.append(_time(records.recorder.flush, calls=1))
    without, again, new, cached = (seconds[variant] for variant in VARIANTS)
    with _variant("again"):
        inside = median(_receipt_times(lambda: call(handler)))
    return {
        "query": name,
        "turns": len(without),
        "without, µs of CPU": round(median(without)),
        "again, %": percent(again, without),
        "new, %": percent(new, without),
        "cached, µs": round(median(cached)),
        "receipt, µs": round(inside),
        "receipt, %": round(100 * inside / median(without), 2),
        "statements": _statements("again", lambda: call(handler))
        - _statements("without", lambda: call(handler)),
        "writer, µs": round(median(writer)),
    }


def _receipt_times(call: Callable[[], object]) -> list[float]:
    """Return the microseconds of each receipt issued by the calls, from its inputs to its code, with figures encoded."""
    times: list[float] = []
    issued, encode = receipt_of, results.encode_figures

    def timed_receipt(*arguments: Any) -> ReceiptIssuer | None:
        start = thread_time()
        receipt = issued(*arguments)
        spent = thread_time() - start
        return None if receipt is None else _TimedReceipt(receipt, spent)

    class _TimedReceipt(ReceiptIssuer):
        def __init__(self, receipt: ReceiptIssuer, spent: float) -> None:
            super().__init__(receipt._record_of)
            self._spent = spent

        def __call__(self, figures: bytes) -> str:
            issue_began = thread_time()
            code = super().__call__(figures)
            times.append((self._spent + encoding[-1] + thread_time() - issue_began) * 1_000_000)
            return code

    encoding: list[float] = []

    def timed_encode(whole: Mapping[str, Any]) -> bytes:
        start = thread_time()
        figures = encode(whole)
        encoding.append(thread_time() - start)
        return figures

    with (
        patch.object(execution, "receipt_of", timed_receipt),
        patch.object(results, "encode_figures", timed_encode),
    ):
        for _ in range(RECEIPTS):
            call()
    if len(times) != RECEIPTS:
        raise RuntimeError(f"{len(times)} of {RECEIPTS} answers had a receipt.")
    return times


def _statements(variant: str, call: Callable[[], object]) -> int:
    """Count the statements of a call with a cached answer."""
    with _variant(variant):
        call()
        with CaptureQueriesContext(connection) as captured:
            call()
    return len(captured)


def _time(call: Callable[[], object], calls: int = CALLS) -> float:
    """Return the microseconds of a call."""
    start = thread_time()
    for _ in range(calls):
        call()
    return (thread_time() - start) * 1_000_000 / calls


@contextmanager
def _variant(variant: str) -> Iterator[None]:
    if variant == "new":
        # Known as stored only once the writer has stored it: each call of the turn queues it.
        records.forget()
    if variant == "cached":
        yield
        return
    with patch.object(cached_answers, "lookup_of", lambda *_: None):
        if variant == "without":
            with patch.object(execution, "receipt_of", lambda *_: None):
                yield
        else:
            yield
