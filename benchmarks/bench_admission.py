"""The cost of admission (finops/web) per request, and the effect of 200 slow clients on other clients.

Two servers on the same data take short turns in one run: the product's, and Django without admission behind eight threads of granian's WSGI
interface; other load on the machine affects both.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.contrib.auth import get_user_model

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.services import create_account
from benchmarks.cpu import cpu_seconds, web_server
from benchmarks.http_load import load
from benchmarks.push_events import BATCH, bodies
from benchmarks.table import Row, timings
from finops.web.admission import Admission
from finops.web.bodies import ArrivingBodies, BodyLimits, Pace
from finops.web.gateway import Environ, Scope, StartResponse, ask, wsgi_environ
from finops.web.setup import HEALTH, request_kinds, uploads
from ingestion import services
from tests.finops.web.slow_clients import idle_clients
from tests.servers import ROOT, LiveServer, _wait_until_ready, free_port, serve

ROUNDS = 7
SECONDS = 1.5
TURNS = 13
TURN_SECONDS = 0.7
SLOW = 200
TIMES = 2_000
HEADERS = [(b"authorization", b"Bearer x")]
SCOPE = {
    "http_version": "1.1",
    "method": "POST",
    "raw_path": b"/api/mcp",
    "query_string": b"",
    "scheme": "http",
    "server": ("192.0.2.9", "80"),
    "client": ("192.0.2.1", "1"),
}


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    body: bytes
    key: str


def measure() -> list[Row]:
    mcp_key, usage_key = _keys()
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    tools = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    cases = [
        Case("MCP ping", "/api/mcp", ping, mcp_key),
        Case("MCP tools/list", "/api/mcp", tools, mcp_key),
        Case("push of 1,000 events", "/api/usage/events", bodies(BATCH)[0], usage_key),
    ]
    same = {
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "VAR_DIR": os.environ["VAR_DIR"],
        "USAGE_RATE_LIMIT_PER_MINUTE": "10000000",
        "MCP_RATE_LIMIT_PER_MINUTE": "10000000",
    }
    with serve(**same) as console, _bare(console, 8) as bare:
        servers = {"console": console, "bare": bare}
        return [*_in_process(), *_over_http(servers, cases), *_beside_slow_clients(console, cases)]


def _keys() -> tuple[str, str]:
    owner = get_user_model().objects.create_user("admission@example.com")
    account = create_account(name="Admission", owner=owner, slug="admission")
    actor = Actor.of_user(owner)
    source = services.create_usage_source(account=account, actor=actor, name="Backend")
    return (
        mint_mcp_key(account=account, actor=actor, name="bench")[1],
        services.generate_usage_key(source=source, actor=actor)[1],
    )


def _in_process() -> Iterator[Row]:
    """Return the microseconds that admission adds to an application that does nothing."""

    def application(environ: Environ, start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])
        return [b""]

    admission = Admission(
        application, ArrivingBodies(BodyLimits()), request_kinds(), uploads(), HEALTH, Pace()
    )
    for size in (0, 300, 100_000):
        scope = {**SCOPE, "headers": [*HEADERS, (b"content-length", str(size).encode())]}

        def without(scope: Scope = scope) -> None:
            for _ in range(TIMES):
                ask(application, wsgi_environ(scope))

        def through(scope: Scope = scope, body: bytes = bytes(size)) -> None:
            asyncio.run(_ask(admission, scope, body))

        by_action = timings(5, without=without, admission=through)
        yield {
            "body, bytes": size,
            "µs of CPU that admission adds": round(
                (by_action["admission"].cpu - by_action["without"].cpu) * 1_000 / TIMES, 1
            ),
        }


async def _ask(admission: Admission, scope: Scope, body: bytes) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        pass

    for _ in range(TIMES):
        await admission(scope, receive, send)


def _over_http(servers: dict[str, LiveServer], cases: list[Case]) -> Iterator[Row]:
    for connections in (8, 1):
        for case in cases:
            rates: dict[str, list[float]] = {name: [] for name in servers}
            cpu: dict[str, list[float]] = {name: [] for name in servers}
            for turn in range(TURNS + 1):
                names = list(servers)
                for name in names if turn % 2 else names[::-1]:
                    before = _cpu_of(servers[name])
                    load = _load(servers[name], case, connections, TURN_SECONDS)
                    if turn:
                        rates[name].append(load.rate)
                        cpu[name].append((_cpu_of(servers[name]) - before) * 1_000 / len(load.timings))
            yield {
                "request": case.name,
                "connections": connections,
                "requests/s": round(median(rates["console"])),
                "ratio to bare": _ratio(rates["console"], rates["bare"]),
                "CPU ms": round(median(cpu["console"]), 2),
                "bare CPU ms": round(median(cpu["bare"]), 2),
            }


def _ratio(rates: list[float], to: list[float]) -> float:
    """The median of the turns' ratios."""
    return round(median(rate / other for rate, other in zip(rates, to, strict=True)), 2)


def _beside_slow_clients(server: LiveServer, cases: list[Case]) -> Iterator[Row]:
    for case in cases:
        idle = [_load(server, case, 2).percentile(99) for _ in range(ROUNDS)]
        with idle_clients(server.url, SLOW, "127.0.0.9"):
            latencies = [_load(server, case, 2).percentile(99) for _ in range(ROUNDS)]
        yield {
            f"beside {SLOW} slow clients": case.name,
            "p99 at rest, ms": round(median(idle), 1),
            "p99, ms": round(median(latencies), 1),
            "ratio": round(median(latencies) / median(idle), 2),
        }


def _cpu_of(server: LiveServer) -> float:
    return cpu_seconds(web_server(int(server.url.rpartition(":")[2])))


def _load(server: LiveServer, case: Case, connections: int, seconds: float = SECONDS) -> Any:
    headers = {"Authorization": f"Bearer {case.key}", "Content-Type": "application/json"}
    return load(
        f"{server.url}{case.path}", headers, lambda _: case.body, connections=connections, seconds=seconds
    )


@contextmanager
def _bare(console: LiveServer, threads: int) -> Iterator[LiveServer]:
    port = free_port()
    server = LiveServer(
        f"http://127.0.0.1:{port}", console.environment, console.log.with_name(f"bare-{threads}.log")
    )
    command = [
        sys.executable,
        "-m",
        "granian",
        "--interface",
        "wsgi",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    command += [
        "--blocking-threads",
        str(threads),
        "--log-level",
        "error",
        "benchmarks.bare_wsgi:application",
    ]
    with server.log.open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=server.environment, stdout=log, stderr=log)
    try:
        _wait_until_ready(server, process)
        yield server
    finally:
        process.terminate()
        process.wait()
