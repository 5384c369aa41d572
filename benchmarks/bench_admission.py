"""The cost of admission (finops/web) per request, and the effect of 200 slow clients on other clients.

Three servers on the same data take short turns in one run: the product's, and Django without admission with eight
threads and with the product's number of threads. This separates the cost of threads from the cost of admission; other
load on the machine affects all three.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
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
from finops.web.requests import OpenRequests, RequestLimits
from finops.web.server import THREADS
from finops.web.setup import HEALTH, request_kinds, uploads
from ingestion import services
from tests.finops.web.slow_clients import idle_clients
from tests.servers import ROOT, LiveServer, _wait_until_ready, free_port, serve

ROUNDS = 7
SECONDS = 1.5
TURNS = 13
TURN_SECONDS = 0.7
SLOW = 200


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
    with serve(**same) as console, _bare(console, 8) as bare, _bare(console, THREADS) as many:
        servers = {"console": console, "bare": bare, "bare, all threads": many}
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

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return [b""]

    admission = Admission(application, OpenRequests(RequestLimits()), request_kinds(), uploads(), HEALTH)
    times = 2_000
    for size in (0, 300, 100_000):
        body = bytes(size)

        def ask(through: Any, body: bytes = body) -> None:
            for _ in range(times):
                environ = {
                    "PATH_INFO": "/api/mcp",
                    "REMOTE_ADDR": "192.0.2.1",
                    "wsgi.input": io.BytesIO(body),
                }
                through(environ | {"CONTENT_LENGTH": str(len(body)), "HTTP_AUTHORIZATION": "Bearer x"}, None)

        by_action = timings(5, without=lambda: ask(application), admission=lambda: ask(admission))
        yield {
            "body, bytes": size,
            "µs of CPU that admission adds": round(
                (by_action["admission"].cpu - by_action["without"].cpu) * 1_000 / times, 1
            ),
        }


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
                "bare with all threads": _ratio(rates["bare, all threads"], rates["bare"]),
                "ratio to bare with all threads": _ratio(rates["console"], rates["bare, all threads"]),
                "CPU ms": round(median(cpu["console"]), 2),
                "bare CPU ms": round(median(cpu["bare"]), 2),
                "all threads CPU ms": round(median(cpu["bare, all threads"]), 2),
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
