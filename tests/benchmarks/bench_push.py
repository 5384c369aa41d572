"""Pushing usage over HTTP to the real server, with the client on the same cores.

Beside it, taking turns in one run: PostgreSQL taking prebuilt COPY buffers of the same events on as many connections
into a table with a row an event, which no server that stores events so could beat. And where a request's milliseconds go.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import psycopg
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import RequestFactory
from msgspec import structs

from accounts.audit import Actor
from accounts.services import create_account
from finops.lake import inbox
from finops.lib import clock
from finops.lib.ratelimit import windows
from ingestion import parsing, services
from ingestion.keys import authenticate_usage_key, lock_living_key
from ingestion.parsing import Batch
from ingestion.services import accept, event_ids, ledger
from ingestion.views.push import PATH, push
from tests.benchmarks.cpu import cpu_seconds, postmaster, web_server
from tests.benchmarks.http_load import Bodies, Load, load
from tests.benchmarks.table import Row
from tests.ingestion.world import Web, redis_server
from tests.servers import serve

SECONDS = float(os.environ.get("BENCH_PUSH_SECONDS", "4"))
ROUNDS = 3
CONNECTIONS = 4
ACCOUNTS = 3
STEP_TURNS = 60
BATCH = 1_000
CUSTOMERS = 400


def measure() -> list[Row]:
    keys = [usage_key(f"bench-push-{number}") for number in range(ACCOUNTS)]
    rows = list(_over_http(keys))
    return [*rows, _two_processes(keys), _steps(keys[0])]


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
        _sent(url, headers, _of(_bodies(BATCH)), seconds=1)  # warms up, and makes the customers
        kinds: list[tuple[str, int, Bodies]] = [
            ("1,000 events, with names, unit, 3 dimensions", BATCH, _of(_bodies(BATCH))),
            ("... each with a new event_id", BATCH, _with_event_ids(_bodies(BATCH))),
            ("... half of them invalid", BATCH, _of(_bodies(BATCH, wrong=2))),
            ("batches of 100", 100, _of(_bodies(100))),
            ("batches of 1", 1, _of(_bodies(1))),
        ]
        loads: dict[str, list[Load]] = {name: [] for name, _size, _make in kinds}
        copied: dict[str, list[float]] = {name: [] for name, _size, _make in kinds}
        for _ in range(ROUNDS):
            for name, _size, make in kinds:
                copied[name].append(_copied(buffer))
                loads[name].append(_sent(url, headers, make, seconds=SECONDS))
        for name, size, _make in kinds:
            yield _row(name, size, loads[name], median(copied[name]))
        yield from _cores(url, headers, kinds[:3], buffer)


def _two_processes(keys: list[str]) -> Row:
    """The same with two web processes, which share the limit in Redis: one alone leaves a core idle in part."""
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
    make, buffer = _of(_bodies(BATCH)), _copy_buffer()
    _sent(url, headers, make, seconds=1)
    copied, loads = [], []
    for _ in range(ROUNDS):
        copied.append(_copied(buffer))
        loads.append(_sent(url, headers, make, seconds=SECONDS))
    return _row("1,000 events, two web processes and Redis", BATCH, loads, median(copied))


def _cores(
    url: str, headers: list[dict[str, str]], kinds: list[tuple[str, int, Bodies]], buffer: bytes
) -> Iterator[Row]:
    """The cores' time for 1,000 events by whom it is spent, which a busy machine changes little."""
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

    yield row("COPY alone", lambda: _copied(buffer) * SECONDS / BATCH)
    for name, _size, make in kinds:
        yield row(name, lambda: len(_sent(url, headers, make, seconds=SECONDS).taken))  # noqa: B023 called at once


def _of(bodies: list[bytes]) -> Bodies:
    return lambda number: bodies[number % len(bodies)]


def _with_event_ids(bodies: list[bytes]) -> Bodies:
    """Every event of every request has an id that was never sent before; about 0.4 ms of the client's time."""
    marked = []
    for body in bodies:
        events = json.loads(body)["events"]
        named = [{**one, "event_id": f"@@@@-{at}"} for at, one in enumerate(events)]
        marked.append(json.dumps({"events": named}).encode())
    run = count()
    return lambda number: marked[number % len(marked)].replace(b"@@@@", b"%016x" % (next(run) * 7919))


def _row(name: str, size: int, loads: list[Load], copied: float) -> Row:
    middle = sorted(loads, key=lambda one: one.rate)[len(loads) // 2]
    return {
        "over HTTP": name,
        "events/s": round(middle.rate * size),
        "requests/s": round(middle.rate, 1),
        "median ms": middle.percentile(50),
        "p99 ms": middle.percentile(99),
        "COPY alone, rows/s": round(copied),
        "of COPY": middle.rate * size / copied,
    }


def _sent(url: str, headers: list[dict[str, str]], bodies: Bodies, *, seconds: float) -> Load:
    _empty()
    return load(url, headers, bodies, connections=CONNECTIONS, seconds=seconds)


def _bodies(size: int, *, wrong: int = 0, count: int = 8) -> list[bytes]:
    """Bodies of realistic events. Every so many-th event has a quantity that is no number."""
    chance = random.Random(size)
    return [
        json.dumps({"events": [_event(chance, at, wrong) for at in range(size)]}).encode()
        for _ in range(count)
    ]


def _event(chance: random.Random, at: int, wrong: int) -> dict[str, Any]:
    customer, minute, second = chance.randrange(CUSTOMERS), chance.randrange(60), chance.randrange(60)
    moments = (
        f"2026-11-20T12:{minute:02}:{second:02}Z",
        f"2026-11-20T13:{minute:02}:{second:02}.{chance.randrange(10**6):06}+01:00",
        f"2026-11-20 12:{minute:02}:{second:02}",
    )
    return {
        "customer_id": f"cust-{customer:04}",
        "customer_name": f"Customer {customer}",
        "metric": chance.choice(("api_requests", "orders", "gigabytes")),
        "unit": "units",
        "quantity": "x"
        if wrong and at % wrong
        else chance.choice((chance.randrange(100), round(chance.random() * 99, 3))),
        "dimensions": {
            "region": chance.choice(("eu-west-1", "us-east-1")),
            "plan": chance.choice(("free", "pro", "enterprise")),
            "endpoint": chance.choice(("/v1/search", "/v1/orders")),
        },
        "timestamp": moments[at % 3],
    }


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
    events = parsing.check_batch(_bodies(BATCH, count=1)[0]).events
    batch, now = uuid4(), clock.now()
    with connection.cursor() as cursor:
        for statement in (_EVENTS, *(_PARTITION.format(n, n) for n in range(16))):
            cursor.execute(statement)
        with cursor.copy(f"{_COPY} FROM STDIN") as copy:
            for one in events:
                copy.write_row((1, 1, batch, one.position, now, *structs.astuple(one)[1:]))
        with cursor.copy(
            f"COPY (SELECT {', '.join(_COLUMNS)} FROM bench_event) TO STDOUT (FORMAT binary)"
        ) as copy:
            return b"".join(bytes(part) for part in copy)


def _copied(buffer: bytes) -> float:
    """Rows a second of prebuilt buffers, a transaction each."""
    _empty()

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

    began = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        turns = sum(pool.map(work, [began + SECONDS] * CONNECTIONS))
    return turns * BATCH / (time.perf_counter() - began)


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE lake_usageinbox, bench_event")


# Where a request's time goes


def _steps(key: str) -> Row:
    body = _bodies(BATCH, count=1)[0]
    factory, headers = RequestFactory(), {"authorization": f"Bearer {key}"}

    def whole() -> None:
        answer = push(factory.post(PATH, body, content_type="application/json", headers=headers))
        assert answer.status_code == 200

    taken: dict[str, list[float]] = {}

    def timed(name: str, action: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        found = action()
        taken.setdefault(name, []).append((time.perf_counter() - began) * 1_000)
        return found

    for turn in range(STEP_TURNS):
        timed("whole", whole)
        credential = timed("credential and last use", lambda: authenticate_usage_key(key))
        timed("rate limit", lambda: windows().hit("bench", limit=10**7))
        timed("JSON", lambda: parsing._TYPED.decode(body))
        batch = timed("JSON and rules", lambda: parsing.check_batch(body))
        _store(timed, credential, batch, turn)
    return {
        "one request of 1,000 events, ms": "median",
        **{name: median(values[5:]) for name, values in taken.items()},
    }


def _store(
    timed: Callable[[str, Callable[[], Any]], Any], credential: Any, batch: parsing.Batch, turn: int
) -> None:
    account, now, batch_id = credential.account, clock.now(), uuid4()
    named = Batch(batch.events, batch.names, [f"{turn}-{at}" for at in range(len(batch.events))])

    def ledger_row() -> None:
        ledger.write_batch(
            batch_id=batch_id,
            credential=credential,
            received_at=now,
            stored=batch.events,
            duplicates=0,
            rejected=0,
        )

    def store() -> None:
        inbox.append(
            account=account,
            source_id=credential.source_id,
            batch=batch_id,
            received_at=now,
            events=batch.events,
        )

    names = parsing.last_names(batch.events, batch.names)
    metrics = {event.metric for event in batch.events}
    opened = transaction.atomic()
    opened.__enter__()
    timed("key, locked", lambda: lock_living_key(credential.key_id))
    timed("customers and metrics", lambda: accept._know(account.pk, names, metrics, now))
    timed("inbox", store)
    timed("ledger", ledger_row)
    timed("commit", lambda: opened.__exit__(None, None, None))
    with transaction.atomic():
        timed(
            "(1,000 event ids)",
            lambda: event_ids.judge(account_id=account.pk, batch=named, batch_id=batch_id),
        )
