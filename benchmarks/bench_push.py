"""Pushing usage over HTTP to the real server, with the client on the same cores.

Beside it, taking turns in one run: PostgreSQL taking prebuilt COPY buffers of the same events on as many connections
into a table with a row an event, which no server that stores events so could beat. And where a request's milliseconds go.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from uuid import uuid4

import psycopg
from django.contrib.auth import get_user_model
from django.db import connection
from msgspec import structs

from accounts.audit import Actor
from accounts.services import create_account
from benchmarks.cpu import cpu_seconds, postmaster, web_server
from benchmarks.http_load import Bodies, Load, load
from benchmarks.push_events import BATCH, bodies
from benchmarks.push_steps import steps
from benchmarks.table import Row
from finops.lib import clock
from ingestion import parsing, services
from ingestion.views.push import PATH
from tests.deployment import Web, redis_server
from tests.servers import serve

SECONDS = float(os.environ.get("BENCH_PUSH_SECONDS", "4"))
ROUNDS = 3
CONNECTIONS = 4
ACCOUNTS = 3


def measure() -> list[Row]:
    keys = [usage_key(f"bench-push-{number}") for number in range(ACCOUNTS)]
    rows = list(_over_http(keys))
    return [*rows, _two_processes(keys), steps(keys[0])]


def usage_key(slug: str) -> str:
    """The key of a fresh account's source."""
    actor = Actor.command("bench")
    owner = get_user_model().objects.create_user(f"{slug}@example.com")
    account = create_account(name=slug, owner=owner, slug=slug)
    source = services.create_usage_source(account=account, actor=actor, name="Backend")
    return services.generate_usage_key(source=source, actor=actor)[1]


# Over HTTP


def _over_http(keys: list[str]) -> Iterator[Row]:
    # The limit counts every request as always, and never refuses one.
    same = {
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "VAR_DIR": os.environ["VAR_DIR"],
        "USAGE_RATE_LIMIT_PER_MINUTE": "10000000",
    }
    with serve(**same) as live:
        url, headers = f"{live.url}{PATH}", [{"Authorization": f"Bearer {key}"} for key in keys]
        buffer = _copy_buffer()
        _send_load(url, headers, _of(bodies(BATCH)), seconds=1)  # warms up, and makes the customers
        kinds: list[tuple[str, int, Bodies]] = [
            ("1,000 events, with names, unit, 3 dimensions", BATCH, _of(bodies(BATCH))),
            ("... each with a new event_id", BATCH, _with_event_ids(bodies(BATCH))),
            ("... half of them invalid", BATCH, _of(bodies(BATCH, wrong=2))),
            ("batches of 100", 100, _of(bodies(100))),
            ("batches of 1", 1, _of(bodies(1))),
        ]
        loads: dict[str, list[Load]] = {name: [] for name, _size, _make in kinds}
        copied: dict[str, list[float]] = {name: [] for name, _size, _make in kinds}
        for _ in range(ROUNDS):
            for name, _size, make in kinds:
                copied[name].append(_copy_rate(buffer))
                loads[name].append(_send_load(url, headers, make, seconds=SECONDS))
        for name, size, _make in kinds:
            yield _row(name, size, loads[name], median(copied[name]))
        yield from _cores(url, headers, kinds[:3], buffer)


def _two_processes(keys: list[str]) -> Row:
    """Measure two web processes that share the rate limit in Redis; one process leaves a core partly idle."""
    with redis_server() as redis:
        same = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.live_settings",
            "USAGE_RATE_LIMIT_PER_MINUTE": "10000000",
            "REDIS_URL": redis,
            "WEB_PROCESSES": "2",
        }
        web = Web(same, Path(os.environ["VAR_DIR"]) / "two.log", workers=2)
        web.start()
        try:
            return _of_two(f"http://127.0.0.1:{web.port}{PATH}", keys)
        finally:
            web.kill()


def _of_two(url: str, keys: list[str]) -> Row:
    headers = [{"Authorization": f"Bearer {key}"} for key in keys]
    make, buffer = _of(bodies(BATCH)), _copy_buffer()
    _send_load(url, headers, make, seconds=1)
    copied, loads = [], []
    for _ in range(ROUNDS):
        copied.append(_copy_rate(buffer))
        loads.append(_send_load(url, headers, make, seconds=SECONDS))
    return _row("1,000 events, two web processes and Redis", BATCH, loads, median(copied))


def _cores(
    url: str, headers: list[dict[str, str]], kinds: list[tuple[str, int, Bodies]], buffer: bytes
) -> Iterator[Row]:
    """Return processor time per 1,000 events by process, which depends little on other load."""
    server, postgres = web_server(), postmaster()

    def spent() -> list[float]:
        return [cpu_seconds(server), cpu_seconds(postgres), time.process_time()]

    def row(name: str, action: Callable[[], float]) -> Row:
        before = spent()
        turns = action()
        web, database, client = (
            (now - was) * 1_000 / turns for now, was in zip(spent(), before, strict=True)
        )
        return {"CPU ms for 1,000 events": name, "web": web, "PostgreSQL": database, "client": client}

    yield row("COPY alone", lambda: _copy_rate(buffer) * SECONDS / BATCH)
    for name, _size, make in kinds:
        yield row(name, lambda: len(_send_load(url, headers, make, seconds=SECONDS).timings))  # noqa: B023 called at once


def _of(every: list[bytes]) -> Bodies:
    return lambda number: every[number % len(every)]


def _with_event_ids(every: list[bytes]) -> Bodies:
    """Add a new event ID to every event of every request; takes about 0.4 ms of the client's time."""
    marked = []
    for body in every:
        events = json.loads(body)["events"]
        named = [{**event, "event_id": f"@@@@-{at}"} for at, event in enumerate(events)]
        marked.append(json.dumps({"events": named}).encode())
    run = count()
    return lambda number: marked[number % len(marked)].replace(b"@@@@", b"%016x" % (next(run) * 7919))


def _row(name: str, size: int, loads: list[Load], copied: float) -> Row:
    middle = sorted(loads, key=lambda load: load.rate)[len(loads) // 2]
    return {
        "over HTTP": name,
        "events/s": round(middle.rate * size),
        "requests/s": round(middle.rate, 1),
        "median ms": middle.percentile(50),
        "p99 ms": middle.percentile(99),
        "COPY alone, rows/s": round(copied),
        "ratio to COPY": middle.rate * size / copied,
    }


def _send_load(url: str, headers: list[dict[str, str]], make: Bodies, *, seconds: float) -> Load:
    _truncate()
    return load(url, headers, make, connections=CONNECTIONS, seconds=seconds)


# What PostgreSQL takes


_EVENTS = """
DROP TABLE IF EXISTS bench_event;
CREATE TABLE bench_event (
    account_id bigint NOT NULL, source_id bigint NOT NULL, batch uuid NOT NULL, position integer NOT NULL,
    received_at timestamptz NOT NULL, event_time timestamptz NOT NULL, customer_id text NOT NULL, metric text NOT NULL,
    unit text, quantity numeric(38, 12) NOT NULL, dimensions json
) PARTITION BY HASH (account_id)
"""
_PARTITION = "CREATE TABLE bench_event_{} PARTITION OF bench_event FOR VALUES WITH (MODULUS 16, REMAINDER {})"
_COLUMNS = (
    *("account_id", "source_id", "batch", "position", "received_at", "event_time", "customer_id"),
    *("metric", "unit", "quantity", "dimensions"),
)
_COPY = f"COPY bench_event ({', '.join(_COLUMNS)})"


def _copy_buffer() -> bytes:
    """The events of one push as PostgreSQL itself writes them, of a table with a row an event, in 16 partitions, without index."""
    events = parsing.check_batch(bodies(BATCH, count=1)[0]).events
    batch, now = uuid4(), clock.now()
    with connection.cursor() as cursor:
        for statement in (_EVENTS, *(_PARTITION.format(n, n) for n in range(16))):
            cursor.execute(statement)
        with cursor.copy(f"{_COPY} FROM STDIN") as copy:
            for event in events:
                copy.write_row((1, 1, batch, event.position, now, *structs.astuple(event)[1:]))
        with cursor.copy(
            f"COPY (SELECT {', '.join(_COLUMNS)} FROM bench_event) TO STDOUT (FORMAT binary)"
        ) as copy:
            return b"".join(bytes(part) for part in copy)


def _copy_rate(buffer: bytes) -> float:
    """Rows a second of prebuilt buffers, a transaction each."""
    _truncate()

    def work(ends: float) -> int:
        turns = 0
        with psycopg.connect(os.environ["DATABASE_URL"]) as own:
            while time.perf_counter() < ends:
                with (
                    own.cursor() as cursor,
                    cursor.copy(f"{_COPY} FROM STDIN (FORMAT binary)") as copy,
                ):
                    copy.write(buffer)
                own.commit()
                turns += 1
        return turns

    start = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        turns = sum(pool.map(work, [start + SECONDS] * CONNECTIONS))
    return turns * BATCH / (time.perf_counter() - start)


def _truncate() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE lake_usageinbox, bench_event")
