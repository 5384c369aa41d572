"""The MCP endpoint compared with the official Python SDK's server: `tools/call querySpend` over HTTP on the same
data.

Ours is granian as `manage.py up` runs it; the peer is sdk_server.py, with the same query function and the same key
check. One client for both, on the same cores. The two take turns in rounds, so other load affects both; each ratio is
computed within a round, and the median of the rounds is shown. BENCH_ROUNDS and BENCH_SECONDS set their number and
duration. The query function caches results (ADR 0009) for both sides: two queries are repeated, the third is new each
time.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from django.core.management import call_command

from benchmarks.http_load import Bodies, Load, load
from benchmarks.table import Row
from finops.demo import handout
from finops.lib import clock
from mcpserver.method_context import META_CAPABILITIES
from mcpserver.protocol import META_VERSION
from mcpserver.revisions import MODERN
from tests.servers import READY_SECONDS, ROOT, free_port, serve

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
CONNECTIONS = (1, 8, 32)
UNLIMITED = {"MCP_RATE_LIMIT_PER_MINUTE": "100000000"}

Arguments = Callable[[int], Mapping[str, Any]]


def _same(arguments: Mapping[str, Any]) -> Arguments:
    return lambda _turn: arguments


_asked = itertools.count()


def _other_days(_turn: int) -> Mapping[str, Any]:
    """Return a different query each time, over all rounds: 1 to 60 days that end on one of the last 300."""
    number = next(_asked)
    end = clock.today() - timedelta(days=1 + number * 7 % 300)
    start = end - timedelta(days=(number // 300 + number * 13) % 60)
    return {"start_date": start.isoformat(), "end_date": end.isoformat(), "group_by": ["service"]}


QUESTIONS: Mapping[str, Arguments] = {
    "30 days": _same({}),
    "last month by service, compared": _same(
        {"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"}
    ),
    "other days each time, by service": _other_days,
}


@dataclass(frozen=True)
class Side:
    name: str
    url: str
    headers: Mapping[str, str]


def measure() -> list[Row]:
    call_command("load_demo", verbosity=0)
    key = json.loads(handout.path().read_text())["mcp_key_read"]
    same = {"DATABASE_URL": os.environ["DATABASE_URL"], "VAR_DIR": os.environ["VAR_DIR"]}
    with serve(**same, **UNLIMITED) as live, _sdk_server() as sdk_url:
        console, peer = Side("console", live.mcp_url, _headers(key)), Side("SDK", sdk_url, _headers(key))
        return [
            _row(name, console, peer, _bodies(arguments), connections)
            for name, arguments in QUESTIONS.items()
            for connections in CONNECTIONS
        ]


def _row(question: str, console: Side, peer: Side, bodies: Bodies, connections: int) -> Row:
    rounds = [_round(console, peer, bodies, connections) for _ in range(ROUNDS + 1)][1:]
    return {
        "query": question,
        "connections": connections,
        "console, requests/s": median(own.rate for own, _ in rounds),
        "SDK": median(sdk.rate for _, sdk in rounds),
        "ratio": median(own.rate / sdk.rate for own, sdk in rounds),
        "console, p50 ms": median(own.percentile(50) for own, _ in rounds),
        "SDK ": median(sdk.percentile(50) for _, sdk in rounds),
        "console, p99 ms": median(own.percentile(99) for own, _ in rounds),
        " SDK": median(sdk.percentile(99) for _, sdk in rounds),
        "ratio ": median(own.percentile(99) / sdk.percentile(99) for own, sdk in rounds),
    }


def _round(console: Side, peer: Side, bodies: Bodies, connections: int) -> tuple[Load, Load]:
    own, sdk = (
        load(side.url, side.headers, bodies, connections=connections, seconds=SECONDS)
        for side in (console, peer)
    )
    return own, sdk


def _bodies(arguments: Arguments) -> Bodies:
    meta = {
        META_VERSION: MODERN.name,
        META_CAPABILITIES: {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    }

    def body(turn: int) -> bytes:
        params = {"name": "querySpend", "arguments": arguments(turn), "_meta": meta}
        message = {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params}
        return json.dumps(message).encode()

    return body


def _headers(key: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "User-Agent": "bench",
        "MCP-Protocol-Version": MODERN.name,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "querySpend",
    }


@contextmanager
def _sdk_server() -> Iterator[str]:
    """Start the peer in a separate process on the same data; yields its `/mcp` URL."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sdk_server", str(port)], cwd=ROOT, stdin=subprocess.DEVNULL
    )
    try:
        _wait_until_open(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(15)


def _wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + READY_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.05)
    raise RuntimeError("the SDK server did not come up")
