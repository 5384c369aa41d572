"""What request ids and metrics cost a call: processor time of the thread that answers, cheap calls, since those feel it most.

Three programs in one process take short turns in random order: *bare* without the middleware and the request id of statements, *off*
as the product is without METRICS_TOKEN, *on* with it. PostgreSQL's own time is in none of them, which makes the shares larger than
clients see.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import thread_time
from typing import Any, Final
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIHandler
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client, RequestFactory, override_settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.services import create_account
from benchmarks.push_events import bodies
from benchmarks.table import Row
from finops.lib.call_stack import in_one_chunk
from finops.lib.postgresql.base import DatabaseWrapper
from finops.lib.telemetry import metrics
from finops.settings import MIDDLEWARE
from ingestion import services
from tests.live_settings import STORAGES

SECONDS: Final = float(os.environ.get("BENCH_SECONDS", "40"))
"""Processor time per row: more turns for shorter calls."""
CALLS: Final = 5
VARIANTS: Final = ("bare", "off", "on")

Call = Callable[[WSGIHandler], None]


def measure() -> list[Row]:
    limits = {"MCP_RATE_LIMIT_PER_MINUTE": 10**9, "USAGE_RATE_LIMIT_PER_MINUTE": 10**9}
    with override_settings(STORAGES=STORAGES, ALLOWED_HOSTS=["*"], **limits):
        whole = WSGIHandler()
        bare = [each for each in MIDDLEWARE if each != "finops.telemetry.middleware.trace_request"]
        with override_settings(MIDDLEWARE=bare):
            handlers = {"bare": WSGIHandler(), "off": whole, "on": whole}
        # Else CPython's chunks of stack decide the figures: a frame more or less is several percent.
        row = in_one_chunk(_row)
        return [row(name, call, handlers) for name, call in _calls().items()]


def _row(name: str, call: Call, handlers: Mapping[str, WSGIHandler]) -> Row:
    seconds: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    shuffled = Random(1)
    with _metrics():
        start = thread_time()
        while thread_time() - start < SECONDS:
            for variant in shuffled.sample(VARIANTS, len(VARIANTS)):
                with _variant(variant):
                    seconds[variant].append(_time(call, handlers[variant]))
    bare, off, on = (median(seconds[variant]) for variant in VARIANTS)
    return {
        "call": name,
        "bare, µs of CPU": round(bare),
        "off, µs": round(off),
        "on, µs": round(on),
        "overhead off, %": percent(seconds["off"], seconds["bare"]),
        "overhead on, %": percent(seconds["on"], seconds["bare"]),
    }


def _time(call: Call, handler: WSGIHandler) -> float:
    """Return the microseconds of a call."""
    call(handler)
    start = thread_time()
    for _ in range(CALLS):
        call(handler)
    return (thread_time() - start) * 1_000_000 / CALLS


def percent(these: list[float], those: list[float]) -> str:
    """The median of the turns' ratios, with its standard error."""
    ratios = [(this / that - 1) * 100 for this, that in zip(these, those, strict=True)]
    lower, _, upper = quantiles(ratios, n=4)
    error = 1.253 * (upper - lower) / 1.349 / math.sqrt(len(ratios))
    return f"{median(ratios):.1f} ± {error:.1f}"


@contextmanager
def _variant(variant: str) -> Iterator[None]:
    """Switch the variant. Metrics stay enabled and their state is swapped, because enabling them again would change
    the contents of CPU caches."""
    counting = [(each, vars(each).copy()) for each in metrics.instruments]
    cursors = BaseDatabaseWrapper.make_cursor if variant == "bare" else DatabaseWrapper.make_cursor
    wrapper = connections["default"]
    if variant != "on":
        for each, _ in counting:
            each.disable()
    directory = metrics.directory() if variant == "on" else None
    try:
        with (
            patch.object(metrics, "_directory", directory),
            patch.object(wrapper, "make_cursor", cursors.__get__(wrapper)),
        ):
            yield
    finally:
        for each, attributes in counting:
            vars(each).update(attributes)


@contextmanager
def _metrics() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        metrics.enable(Path(folder))
        try:
            yield
        finally:
            metrics.disable()


def _calls() -> dict[str, Call]:
    owner = get_user_model().objects.create_user("telemetry@example.com")
    account = create_account(name="Telemetry", owner=owner, slug="telemetry")
    actor = Actor.of_user(owner)
    mcp_key = mint_mcp_key(account=account, actor=actor, name="bench")[1]
    source = services.create_usage_source(account=account, actor=actor, name="Backend")
    usage_key = services.generate_usage_key(source=source, actor=actor)[1]
    client = Client()
    client.force_login(owner)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    tool = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "listTeams", "arguments": {}},
    }
    small = json.loads(bodies(100)[0])
    return {
        "page: budgets": _get("/a/telemetry/budgets/", cookies),
        "MCP: listTeams": post("/api/mcp", json.dumps(tool).encode(), mcp_key),
        "push of 10 events": post(
            "/api/usage/events", json.dumps({"events": small["events"][:10]}).encode(), usage_key
        ),
    }


def _get(path: str, cookies: str) -> Call:
    return _ask(RequestFactory().get(path, headers={"cookie": cookies}).environ, b"")


def post(path: str, body: bytes, key: str) -> Call:
    request = RequestFactory().post(
        path, body, content_type="application/json", headers={"authorization": f"Bearer {key}"}
    )
    return _ask(request.environ, body)


def _ask(environ: dict[str, Any], body: bytes) -> Call:
    def call(handler: WSGIHandler) -> None:
        statuses: list[str] = []

        def start(status: str, headers: Any, error: Any = None, /) -> Callable[[bytes], object]:
            statuses.append(status)
            return bytes

        answer = handler({**environ, "wsgi.input": BytesIO(body)}, start)
        b"".join(answer)
        answer.close()
        if statuses != ["200 OK"]:
            raise RuntimeError(f"{environ['PATH_INFO']}: {statuses}")

    return call
