"""A quiet tenant beside a noisy one, over HTTP, on a web process with two lake slots.

The quiet tenant asks two ordinary questions in turn, with a pause after each; the noisy one has 24 connections that ask dear
questions over two million lines without a pause. No result is cached. Latencies are those of the quiet tenant, alone and beside the noisy one,
in the same run; refusals and errors of the noisy one are counted.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from http import HTTPStatus
from statistics import median, quantiles
from typing import Any, Final

import httpx

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks import lake_data
from benchmarks.table import Row
from finops.costs.models import CostSource
from finops.lake.schema import Kind
from finops.lake.storage.segments import swap_segments
from tests.factories.costs import add_source, cost
from tests.servers import LiveServer, serve

CONNECTIONS: Final = 24
QUESTIONS: Final = 60
PAUSE_SECONDS: Final = 0.25
MONTHS: Final = [date(2026, 1, 1), date(2026, 2, 1)]
SETTINGS: Final = {
    "LAKE_CONCURRENCY": "2",
    "LAKE_ANSWERS_BYTES": "0",
    "MCP_RATE_LIMIT_PER_MINUTE": "100000000",
}
ORDINARY: Final = [["service"], ["provider", "region"]]
DEAR: Final = [["resource"], ["tag:team", "resource"], ["tag:app", "resource"]]


def measure() -> list[Row]:
    with serve(**SETTINGS) as server:
        keys = server.run("benchmarks.bench_noisy_neighbour:accounts")
        ask(server, keys["quiet"], ["service"])  # imports, connections
        baseline = quiet_latencies(server, keys["quiet"])
        with noise(server, keys["noisy"]) as noisy:
            loaded = quiet_latencies(server, keys["quiet"])
    rows: list[Row] = [
        {
            "quiet tenant": name,
            "median ms": round(median(times) * 1_000),
            "p95 ms": round(_p95(times) * 1_000),
            "slowest ms": round(max(times) * 1_000),
            "not answered": failures,
        }
        for name, (times, failures) in (("alone", baseline), ("beside the noisy one", loaded))
    ]
    return [
        *rows,
        {
            "p95 beside / alone": _p95(loaded[0]) / _p95(baseline[0]),
            "dear questions answered": noisy.count(True),
            "refused or timed out": noisy.count(False),
        },
    ]


def accounts() -> dict[str, str]:
    """Create both accounts, inside the server's settings. Return their keys."""
    keys = {}
    for name in ("noisy", "quiet"):
        owner = User.objects.create(email=f"{name}@bench.example")
        account = create_account(name=name, owner=owner, slug=name)
        keys[name] = mint_mcp_key(account=account, actor=Actor.of_user(owner), name="bench")[1]
        with account_scope(account):
            if name == "quiet":
                days = [month.replace(day=day) for month in MONTHS for day in range(1, 29)]
                add_source(
                    account, [cost(day, 10, service=f"service {n}") for day in days for n in range(50)]
                )
                continue
            source = CostSource.objects.create(account=account, name="Bills")
        for month in MONTHS:
            new = lake_data.write_month(account, month, lake_data.FEW_TAGS, source.pk)
            swap_segments(account=account, kind=Kind.COST, source_id=source.pk, months=[month], new=[new])
    return keys


def quiet_latencies(server: LiveServer, key: str) -> tuple[list[float], int]:
    """Return the seconds of each question of the quiet tenant, and how many were not answered."""
    times, failures = [], 0
    with httpx.Client(timeout=60) as client:
        for number in range(QUESTIONS):
            start = time.perf_counter()
            answer = ask(server, key, ORDINARY[number % 2], client, number)
            times.append(time.perf_counter() - start)
            failures += not is_answer(answer)
            time.sleep(PAUSE_SECONDS)
    return times, failures


@contextmanager
def noise(server: LiveServer, key: str) -> Iterator[list[bool]]:
    """Ask dear questions on CONNECTIONS until the end of the block. Yields whether each was answered."""
    over, answered, numbers = threading.Event(), list[bool](), itertools.count()

    def ask_until_over() -> None:
        with httpx.Client(timeout=60) as client:
            while not over.is_set():
                number = next(numbers)
                answered.append(is_answer(ask(server, key, DEAR[number % len(DEAR)], client, number)))

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        running = [pool.submit(ask_until_over) for _ in range(CONNECTIONS)]
        try:
            time.sleep(2)
            yield answered
        finally:
            over.set()
    for each in running:
        each.result()


def ask(
    server: LiveServer, key: str, group_by: list[str], client: Any = httpx, number: int = 0
) -> httpx.Response:
    arguments = {
        "group_by": group_by,
        "start_date": "2026-01-01",
        "end_date": f"2026-02-{number % 28 + 1:02}",
        "granularity": "day",
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "querySpend", "arguments": arguments}
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    answer: httpx.Response = client.post(server.mcp_url, json={**call, "params": params}, headers=headers)
    return answer


def is_answer(answer: httpx.Response) -> bool:
    return answer.status_code == HTTPStatus.OK and '"isError":true' not in answer.text


def _p95(times: list[float]) -> float:
    return quantiles(times, n=20)[-1]
