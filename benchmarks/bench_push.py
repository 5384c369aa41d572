"""Pushing usage over HTTP to the real server, with the client on the same cores.

Beside it, taking turns in one run: PostgreSQL taking prebuilt COPY buffers of the same events on as many connections
into a table with a row an event, alone and with a new id for each event (`push_peers`). And where a request's
milliseconds go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median

from django.contrib.auth import get_user_model

from accounts.audit import Actor
from accounts.services import create_account
from benchmarks import push_events, push_peers
from benchmarks.cpu import cpu_seconds, postmaster, web_server
from benchmarks.http_load import Bodies, Load, load
from benchmarks.push_events import BATCH, bodies
from benchmarks.push_peers import CopyBuffer, CopyBuffers
from benchmarks.push_steps import steps
from benchmarks.table import Row
from ingestion import services
from ingestion.views.push import PATH
from tests.deployment import Web, redis_server
from tests.servers import serve

SECONDS = float(os.environ.get("BENCH_PUSH_SECONDS", "4"))
ROUNDS = 3
CONNECTIONS = 4
ACCOUNTS = 3


WITH_IDS = "... each with a new event_id"

Kinds = dict[str, tuple[int, Bodies]]
"""By name, the events of a push and its bodies."""


def measure() -> list[Row]:
    keys = [usage_key(f"bench-push-{number}") for number in range(ACCOUNTS)]
    rows = list(_one_process(keys))
    return [*rows, *_two_processes(keys), steps(keys[0])]


def usage_key(slug: str) -> str:
    """The key of a fresh account's source."""
    actor = Actor.command("bench")
    owner = get_user_model().objects.create_user(f"{slug}@example.com")
    account = create_account(name=slug, owner=owner, slug=slug)
    source = services.create_usage_source(account=account, actor=actor, name="Backend")
    return services.generate_usage_key(source=source, actor=actor)[1]


# Over HTTP


def _one_process(keys: list[str]) -> Iterator[Row]:
    # The limit counts every request as always, and never refuses one.
    same = {
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "VAR_DIR": os.environ["VAR_DIR"],
        "USAGE_RATE_LIMIT_PER_MINUTE": "10000000",
    }
    with serve(**same) as live:
        url, headers = f"{live.url}{PATH}", [{"Authorization": f"Bearer {key}"} for key in keys]
        buffers = push_peers.copy_buffers()
        kinds: Kinds = {
            "1,000 events, with names, unit, 3 dimensions": (BATCH, _of(bodies(BATCH))),
            WITH_IDS: (BATCH, _with_event_ids(bodies(BATCH))),
            "... half of them invalid": (BATCH, _of(bodies(BATCH, wrong=2))),
            "batches of 100": (100, _of(bodies(100))),
            "batches of 1": (1, _of(bodies(1))),
        }
        yield from _in_turns(url, headers, kinds, buffers)
        yield from _cores(url, headers, dict(list(kinds.items())[:3]), buffers)


def _two_processes(keys: list[str]) -> Iterator[Row]:
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
            kinds: Kinds = {
                "1,000 events, two web processes and Redis": (BATCH, _of(bodies(BATCH))),
                f"{WITH_IDS}, two web processes": (BATCH, _with_event_ids(bodies(BATCH))),
            }
            headers = [{"Authorization": f"Bearer {key}"} for key in keys]
            url = f"http://127.0.0.1:{web.port}{PATH}"
            yield from _in_turns(url, headers, kinds, push_peers.copy_buffers())
        finally:
            web.kill()


def _in_turns(url: str, headers: list[dict[str, str]], kinds: Kinds, buffers: CopyBuffers) -> Iterator[Row]:
    """Measure each kind, each time after both peers."""
    _send_load(url, headers, _of(bodies(BATCH)), seconds=1)  # warms up, and makes the customers
    loads: dict[str, list[Load]] = {name: [] for name in kinds}
    copied: dict[str, list[float]] = {name: [] for name in kinds}
    with_ids: list[float] = []
    for _ in range(ROUNDS):
        for name, (_size, make) in kinds.items():
            has_ids = name.startswith(WITH_IDS)
            copied[name].append(_copy_rate(buffers.with_ids if has_ids else buffers.plain))
            if has_ids:
                with_ids.append(_copy_with_ids_rate(buffers.plain))
            loads[name].append(_send_load(url, headers, make, seconds=SECONDS))
    for name, (size, _make) in kinds.items():
        yield _row(name, size, loads[name], median(copied[name]), median(with_ids))


def _copy_rate(buffer: CopyBuffer) -> float:
    return push_peers.copy_rate(buffer, connections=CONNECTIONS, seconds=SECONDS)


def _copy_with_ids_rate(buffer: CopyBuffer) -> float:
    return push_peers.copy_with_ids_rate(buffer, connections=CONNECTIONS, seconds=SECONDS)


def _cores(url: str, headers: list[dict[str, str]], kinds: Kinds, buffers: CopyBuffers) -> Iterator[Row]:
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

    yield row("COPY alone", lambda: _copy_rate(buffers.plain) * SECONDS / BATCH)
    yield row("COPY of events with an event_id", lambda: _copy_rate(buffers.with_ids) * SECONDS / BATCH)
    yield row("COPY and a new id each", lambda: _copy_with_ids_rate(buffers.plain) * SECONDS / BATCH)
    for name, (_size, make) in kinds.items():
        yield row(name, lambda: len(_send_load(url, headers, make, seconds=SECONDS).timings))  # noqa: B023 called at once


def _of(every: list[bytes]) -> Bodies:
    return lambda number: every[number % len(every)]


_ID_RUN = count()


def _with_event_ids(every: list[bytes]) -> Bodies:
    """Add a new event ID to every event of every request."""
    texts = [push_events.with_event_ids(body, "@@@@").split(b"@@@@") for body in every]
    return lambda number: (b"%016x" % (next(_ID_RUN) * 7919)).join(texts[number % len(texts)])


def _row(name: str, size: int, loads: list[Load], copied: float, with_ids: float) -> Row:
    middle = sorted(loads, key=lambda load: load.rate)[len(loads) // 2]
    return {
        "over HTTP": name,
        "events/s": round(middle.rate * size),
        "requests/s": round(middle.rate, 1),
        "median ms": middle.percentile(50),
        "p99 ms": middle.percentile(99),
        "COPY alone, rows/s": round(copied),
        "ratio to COPY": middle.rate * size / copied,
        "COPY and a new id each, rows/s": round(with_ids),
        "ratio to COPY and ids": middle.rate * size / with_ids,
    }


def _send_load(url: str, headers: list[dict[str, str]], make: Bodies, *, seconds: float) -> Load:
    push_peers.truncate()
    return load(url, headers, make, connections=CONNECTIONS, seconds=seconds)
