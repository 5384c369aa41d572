"""Pushing usage over HTTP to the real server, with the client on the same cores.

Beside it, taking turns in one run: PostgreSQL taking prebuilt COPY buffers of the same events on as many connections
into the same table, which is what no server could beat. And where a request's milliseconds go.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any
from uuid import uuid4

import psycopg
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import RequestFactory

from accounts.audit import Actor
from accounts.services import create_account
from finops.lake import inbox
from finops.lib import clock
from ingestion import parsing, services
from ingestion.keys import authenticate_usage_key, lock_living_key
from ingestion.services import accept
from ingestion.views.push import PATH, push
from tests.benchmarks.http_load import Load, load
from tests.benchmarks.table import Row
from tests.servers import serve

SECONDS = float(os.environ.get("BENCH_PUSH_SECONDS", "4"))
ROUNDS = 3
CONNECTIONS = 4
STEP_TURNS = 60
BATCH = 1_000
CUSTOMERS = 400


def measure() -> list[Row]:
    actor = Actor.command("bench")
    owner = get_user_model().objects.create_user("bench-push@example.com")
    account = create_account(name="Bench", owner=owner, slug="bench-push")
    source = services.create_usage_source(account=account, actor=actor, name="Backend")
    _key, key = services.generate_usage_key(source=source, actor=actor)
    return [*_over_http(key), _steps(key)]


# Over HTTP


def _over_http(key: str) -> Iterator[Row]:
    same = {"DATABASE_URL": os.environ["DATABASE_URL"], "VAR_DIR": os.environ["VAR_DIR"]}
    with serve(**same) as live:
        url, headers = f"{live.url}{PATH}", {"Authorization": f"Bearer {key}"}
        whole = _bodies(BATCH)
        _sent(url, headers, whole, seconds=1)  # warms up, and makes the customers
        buffer = _copy_buffer()
        pushed, copied = [], []
        for _ in range(ROUNDS):
            copied.append(_copied(buffer))
            pushed.append(_sent(url, headers, whole, seconds=SECONDS))
        yield _row("1,000 events, with names, unit, 3 dimensions", BATCH, pushed, median(copied))
        yield _row(
            "1,000 events, half of them invalid",
            BATCH,
            [_sent(url, headers, _bodies(BATCH, wrong=2), seconds=SECONDS)],
            median(copied),
        )
        for size in (100, 1):
            few = _bodies(size)
            yield _row(
                f"batches of {size}", size, [_sent(url, headers, few, seconds=SECONDS)], median(copied)
            )


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


def _sent(url: str, headers: dict[str, str], bodies: list[bytes], *, seconds: float) -> Load:
    _empty()
    return load(
        url, headers, lambda number: bodies[number % len(bodies)], connections=CONNECTIONS, seconds=seconds
    )


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


_COLUMNS = "account_id, source_id, batch, position, received_at, event_time, customer_id, metric, unit, quantity, dimensions"


def _copy_buffer() -> bytes:
    """The events of one push as PostgreSQL itself writes them."""
    select = f"SELECT {_COLUMNS} FROM lake_usageinbox LIMIT {BATCH}"
    with connection.cursor() as cursor, cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT binary)") as copy:
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
                    cursor.copy(f"COPY lake_usageinbox ({_COLUMNS}) FROM STDIN (FORMAT binary)") as copy,
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
        cursor.execute("TRUNCATE lake_usageinbox")


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

    for _ in range(STEP_TURNS):
        timed("whole", whole)
        credential = timed("credential and last use", lambda: authenticate_usage_key(key))
        timed("JSON", lambda: parsing._TYPED.decode(body))
        batch = timed("JSON and rules", lambda: parsing.check_batch(body))
        _store(timed, credential, batch)
    return {
        "one request of 1,000 events, ms": "median",
        **{name: median(values[5:]) for name, values in taken.items()},
    }


def _store(timed: Callable[[str, Callable[[], Any]], Any], credential: Any, batch: parsing.Batch) -> None:
    account, now = credential.account, clock.now()

    def copy() -> None:
        inbox.append(
            account=account,
            source_id=credential.source_id,
            batch=uuid4(),
            received_at=now,
            events=batch.events,
        )

    opened = transaction.atomic()
    opened.__enter__()
    timed("key, locked", lambda: lock_living_key(credential.key_id))
    timed("customers", lambda: accept._know_customers(account.pk, batch.names, now))
    timed("metrics", lambda: accept._know_metrics(account.pk, batch.metrics, now))
    timed("COPY", copy)
    timed("commit", lambda: opened.__exit__(None, None, None))
