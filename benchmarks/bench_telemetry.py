"""What request ids and metrics cost a call: processor time of the thread that answers, cheap calls, since those feel it most.

Three programs in one process take short turns: *bare* without the middleware and the comment of statements, *off* as the product
is without METRICS_TOKEN, *on* with it. PostgreSQL's own time is in none of them, which makes the shares larger than clients see.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.test import Client, RequestFactory, override_settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.services import create_account
from benchmarks.push_events import bodies
from benchmarks.table import Row
from finops.lib.postgresql.base import add_request_id
from finops.lib.telemetry import metrics
from finops.settings import MIDDLEWARE
from ingestion import services
from tests.live_settings import STORAGES

TURNS: Final = 15
CALLS: Final = 20
VARIANTS: Final = ("bare", "off", "on")

Call = Callable[[WSGIHandler], None]


def measure() -> list[Row]:
    limits = {"MCP_RATE_LIMIT_PER_MINUTE": 10**9, "USAGE_RATE_LIMIT_PER_MINUTE": 10**9}
    with override_settings(STORAGES=STORAGES, ALLOWED_HOSTS=["*"], **limits):
        return [_row(name, call) for name, call in _calls().items()]


def _row(name: str, call: Call) -> Row:
    taken: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(TURNS):
            for variant in VARIANTS if turn % 2 else VARIANTS[::-1]:
                with _variant(variant, Path(folder)) as handler:
                    call(handler)
                    began = thread_time()
                    for _ in range(CALLS):
                        call(handler)
                    taken[variant].append((thread_time() - began) * 1_000_000 / CALLS)
    bare, off, on = (median(taken[variant]) for variant in VARIANTS)
    return {
        "call": name,
        "bare, µs of CPU": round(bare),
        "off, µs": round(off),
        "on, µs": round(on),
        "off costs, %": _percent(taken["off"], taken["bare"]),
        "on costs, % of off": _percent(taken["on"], taken["off"]),
    }


def _percent(these: list[float], those: list[float]) -> float:
    """Of the turns' ratios the median."""
    return round((median(this / that for this, that in zip(these, those, strict=True)) - 1) * 100, 2)


@contextmanager
def _variant(variant: str, folder: Path) -> Iterator[WSGIHandler]:
    middleware = [each for each in MIDDLEWARE if variant != "bare" or "telemetry" not in each]
    wrappers = connection.execute_wrappers
    originals = list(wrappers)
    if variant == "bare":
        wrappers[:] = [each for each in originals if each is not add_request_id]
    if variant == "on":
        metrics.enable(folder)
    try:
        with override_settings(MIDDLEWARE=middleware):
            yield WSGIHandler()
    finally:
        wrappers[:] = originals
        if variant == "on":
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
        "MCP: listTeams": _post("/api/mcp", json.dumps(tool).encode(), mcp_key),
        "push of 10 events": _post(
            "/api/usage/events", json.dumps({"events": small["events"][:10]}).encode(), usage_key
        ),
    }


def _get(path: str, cookies: str) -> Call:
    return _ask(RequestFactory().get(path, headers={"cookie": cookies}).environ, b"")


def _post(path: str, body: bytes, key: str) -> Call:
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
