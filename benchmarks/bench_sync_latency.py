"""Questions during a large sync against questions at rest: by HTTP, a web server, the worker's programs and beat each in
processes of their own, as they run.

One client asks `querySpend` of a bill that no sync touches, each question of other days so that no answer is kept, in turns: at
rest, then while sources of two other accounts read a year each, which is both threads of the lane `syncs` (of one account one
sync runs at a time). The machine's load average stands beside each, since the ratio says little where other programs take the
cores. BENCH_SYNCS_ROUNDS says how often (3). The ratio has to stay below 1.5.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from statistics import median, quantiles

import httpx
from django.conf import settings

from accounts.keys import mint_mcp_key
from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks.bench_lanes import ACTOR, _account, _programs, _wait
from benchmarks.bench_syncs import LONG_MONTHS, ROUNDS, _connect, _reading, _run_all
from benchmarks.table import Row
from finops.connections import services
from finops.connections.models import CostConnection, CostSync
from mcpserver.views import PATH
from tests.servers import serve

LINES = 40_000
LONG_LINES = 150_000
QUESTIONS = 150
"""Queries per turn."""
WARM_UP = 40
LIMIT = 1.5
FIRST_DAY = date(2025, 1, 1)
ORDER = ("rest", "sync")


def measure() -> list[Row]:
    folder = Path(settings.VAR_DIR) / "bench-sources"
    settings.CONNECTION_FOLDERS = [str(folder)]
    os.environ["CONNECTION_FOLDERS"] = str(folder)
    queried = _account("bench-asked")
    synced = [_account(f"bench-synced-{number}") for number in range(2)]
    _connect(queried, folder / "asked", LONG_MONTHS, LINES)
    for account in synced:
        pause(_connect(account, folder / account.slug, LONG_MONTHS, LONG_LINES))
    _run_all()
    key = mint_mcp_key(account=queried, actor=ACTOR, name="bench")[1]
    turns: dict[str, list[_Turn]] = {name: [] for name in ORDER}
    variables = {name: os.environ[name] for name in ("DATABASE_URL", "VAR_DIR", "DJANGO_SETTINGS_MODULE")}
    variables["MCP_RATE_LIMIT_PER_MINUTE"] = "100000000"
    with serve(**variables) as server, _programs(), httpx.Client(timeout=60) as client:
        ask = _asker(client, server.url + PATH, key)
        for _ in range(WARM_UP):
            ask()
        for number in range(ROUNDS):
            turns["rest"].append(_turn(ask))
            _begin(synced, folder, number)
            turns["sync"].append(_turn(ask))
            assert _reading().count() == len(synced), "the syncs were over before"
            _cancel()
    return _rows(turns)


@dataclass(frozen=True)
class _Turn:
    seconds: list[float]
    load: float


def _turn(ask: Callable[[], float]) -> _Turn:
    return _Turn([ask() for _ in range(QUESTIONS)], os.getloadavg()[0])


def _begin(accounts: Sequence[Account], folder: Path, number: int) -> None:
    """Create a source in each account with the existing files and wait until both are being read."""
    for account in accounts:
        services.create_connection(
            account=account,
            actor=ACTOR,
            name=f"years {number}",
            connector="folder",
            values={"folder": str(folder / account.slug)},
        )
    _wait(lambda: _reading().count() == len(accounts))


def _asker(client: httpx.Client, url: str, key: str) -> Callable[[], float]:
    """Return a function that runs one query over different days each time and returns its seconds."""
    numbers = count()

    def ask() -> float:
        number = next(numbers)
        start = FIRST_DAY + timedelta(days=number % 180)
        end = start + timedelta(days=30 + number // 180 % 120)
        arguments = {"start_date": f"{start}", "end_date": f"{end}", "group_by": ["service", "region"]}
        body = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "querySpend", "arguments": arguments},
        }
        headers = {
            "authorization": f"Bearer {key}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
        }
        sent_at = time.perf_counter()
        response = client.post(url, json=body, headers=headers)
        took = time.perf_counter() - sent_at
        answer = response.raise_for_status().json()
        assert not answer["result"].get("isError"), answer
        return took

    return ask


def pause(connection: CostConnection) -> None:
    """Pause the source: no syncs now or later."""
    services.pause_connection(connection=connection, actor=ACTOR)
    # Unscoped: every account of the benchmark.
    for sync in CostSync.objects.unscoped().filter(connection=connection, status__in=["queued", "running"]):
        services.cancel_sync(sync=sync, actor=ACTOR)


def _cancel() -> None:
    """Cancel the syncs of the turn and wait until none is running."""
    # Unscoped: every account of the benchmark.
    for connection in CostConnection.objects.unscoped().filter(source__name__contains="years"):
        with account_scope(connection.account):
            pause(connection)
    _wait(lambda: not _reading().exists())


def _rows(turns: dict[str, list[_Turn]]) -> list[Row]:
    every = {name: [each for turn in some for each in turn.seconds] for name, some in turns.items()}
    rows: list[Row] = [
        {
            "query": name,
            "asked": len(every[name]),
            "p50 ms": 1_000 * median(every[name]),
            "p95 ms": 1_000 * _p95(every[name]),
            "load": max(each.load for each in turns[name]),
        }
        for name in ORDER
    ]
    pairs = list(zip(turns["rest"], turns["sync"], strict=True))
    p50 = median(median(sync.seconds) / median(idle.seconds) for idle, sync in pairs)
    p95 = median(_p95(sync.seconds) / _p95(idle.seconds) for idle, sync in pairs)
    rows.append(
        {"sync / rest, median of rounds": len(pairs), "p50": p50, "p95": p95, "p50 at most 1.5": p50 <= LIMIT}
    )
    return rows


def _p95(seconds: list[float]) -> float:
    return quantiles(seconds, n=20)[-1]
