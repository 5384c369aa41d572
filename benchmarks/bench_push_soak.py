"""One account at its full limit, 1,000 requests of 1,000 events per minute, with a running flush worker.

Measures growth of web, worker and PostgreSQL, pending events in the inbox, and the duration of `queryUsage` in the
same web process during the load and at rest. BENCH_PUSH_SOAK_MINUTES sets the duration (1).
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from django.conf import settings
from django.db import connection

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account
from benchmarks.bench_push import usage_key
from benchmarks.cpu import postmaster, web_server
from benchmarks.memory import megabytes, thirds
from benchmarks.push_events import BATCH, bodies
from benchmarks.table import Row
from ingestion.views.push import PATH
from mcpserver.views import PATH as MCP_PATH
from tests.deployment import Web
from tests.servers import ROOT, _end, _end_with_the_tests

MINUTES = float(os.environ.get("BENCH_PUSH_SOAK_MINUTES", "1"))
A_MINUTE = 1_000
SENDERS = 4
SAMPLE_SECONDS = 2.0
QUIET_TURNS = 15


def measure() -> list[Row]:
    key = usage_key("bench-push-soak")
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.live_settings",
        # The limit itself is met by pacing; a request more by chance shall not end the measurement.
        "USAGE_RATE_LIMIT_PER_MINUTE": str(A_MINUTE + 100),
        # Each question is run, also when nothing waits and the last answer would be given.
        "LAKE_ANSWERS_BYTES": "0",
    }
    web = Web(environment, Path(settings.VAR_DIR) / "soak.log")
    web.start()
    try:
        ask = _asker(web)
        with _worker(environment) as worker:
            pids = {"web": web_server(), "worker": worker, "PostgreSQL": postmaster()}
            samples = _push_and_measure(web, key, ask, pids)
        quiet = [_after(SAMPLE_SECONDS, ask) for _ in range(QUIET_TURNS)][2:]
    finally:
        web.kill()
    return [_row(samples, median(quiet)), *thirds(samples.memory)]


class _Samples:
    """Samples during the load. MB of each process and pending events per sample; queries and pushes in ms."""

    def __init__(self) -> None:
        self.memory: dict[str, list[float]] = {}
        self.waiting: list[int] = []
        self.questions: list[float] = []
        self.pushes: list[float] = []


def _push_and_measure(web: Web, key: str, ask: Callable[[], float], pids: Mapping[str, int]) -> _Samples:
    samples, count, lock = _Samples(), iter(range(int(A_MINUTE * MINUTES))), threading.Lock()
    every, start = bodies(BATCH), time.perf_counter()

    def send() -> None:
        wire = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
        while True:
            with lock:
                number = next(count, None)
            if number is None:
                return
            time.sleep(max(0.0, start + number * 60 / A_MINUTE - time.perf_counter()))
            sent_at = time.perf_counter()
            wire.request("POST", PATH, every[number % len(every)], {"Authorization": f"Bearer {key}"})
            answer = wire.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"the server answered {answer.status}")
            samples.pushes.append((time.perf_counter() - sent_at) * 1_000)

    with ThreadPoolExecutor(SENDERS) as pool:
        sending = [pool.submit(send) for _ in range(SENDERS)]
        while not all(future.done() for future in sending):
            for name, pid in pids.items():
                samples.memory.setdefault(name, []).append(megabytes(pid))
            samples.waiting.append(_inbox_events())
            samples.questions.append(ask())
            time.sleep(SAMPLE_SECONDS)
        for future in sending:
            future.result()
    return samples


@contextmanager
def _worker(environment: dict[str, str]) -> Iterator[int]:
    command = [sys.executable, "-m", "finops.worker", "--beat"]
    with (Path(settings.VAR_DIR) / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_the_tests,
        )
    try:
        yield process.pid
        if process.poll() is not None:
            log_tail = (Path(settings.VAR_DIR) / "worker.log").read_text(errors="replace")[-4_000:]
            raise RuntimeError(f"the worker ended with {process.returncode}, and said:\n{log_tail}")
    finally:
        _end(process)


def _inbox_events() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(sum(events), 0) FROM lake_usageinbox")
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _after(seconds: float, ask: Callable[[], float]) -> float:
    """Run queries at the same intervals as during the load, so that CPU caches are equally cold."""
    time.sleep(seconds)
    return ask()


def _asker(web: Web) -> Callable[[], float]:
    """Return a function that measures the milliseconds of a month of one metric by day and customer, as an assistant
    queries it."""
    account, actor = Account.objects.get(slug="bench-push-soak"), Actor.command("bench")
    _key, plaintext = mint_mcp_key(account=account, actor=actor, name="soak")
    days = {"start_date": "2026-11-01", "end_date": "2026-11-30"}
    question = {"metric": "api_requests", "granularity": "day", "group_by": "customer", **days}
    params = {"name": "queryUsage", "arguments": question}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Authorization": f"Bearer {plaintext}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }

    def ask() -> float:
        wire = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
        start = time.perf_counter()
        wire.request("POST", MCP_PATH, body, headers)
        answer = json.load(wire.getresponse())
        milliseconds = (time.perf_counter() - start) * 1_000
        wire.close()
        if answer["result"].get("isError"):
            raise RuntimeError(f"the question failed: {answer}")
        return milliseconds

    return ask


def _row(samples: _Samples, quiet: float) -> Row:
    return {
        "one account at its limit": f"{MINUTES:g} min",
        "pushes": len(samples.pushes),
        "push median ms": median(samples.pushes),
        "push p99 ms": sorted(samples.pushes)[len(samples.pushes) * 99 // 100],
        "waiting events, maximum": max(samples.waiting),
        "waiting events at the end": samples.waiting[-1],
        "query ms meanwhile": median(samples.questions[2:]),
        "query ms quiet": quiet,
        "slower": median(samples.questions[2:]) / quiet,
    }
