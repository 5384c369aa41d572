"""The MCP endpoint: its own cost, compared with the lake query of a real tool call, and over HTTP with real clients.

In-process figures are the best of many turns, because they measure the code and not other load; those over HTTP are
medians and percentiles as seen by clients.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any

import httpx
import msgspec
import pyarrow as pa
from django.core.management import call_command
from django.test import RequestFactory

from accounts.credentials import Credential, authenticate_bearer
from accounts.scoping import account_scope
from benchmarks.table import Row
from finops.demo import handout
from finops.lake.engine import compiler, engine
from mcpserver import jsonrpc
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.execution import run_tool
from mcpserver.http_request import seconds_to_wait
from mcpserver.registry import Tool, registry
from mcpserver.results import encode_answer
from mcpserver.server import make_server, server
from mcpserver.views import PATH, make_endpoint
from tests.mcpserver.toys import make_toys
from tests.servers import serve

TURNS = 31
REQUESTS, CLIENTS = 600, 4
UNLIMITED = {"MCP_RATE_LIMIT_PER_MINUTE": "100000000", "LAKE_ANSWERS_BYTES": "0"}

QUESTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "context": ("getAccountContext", {}),
    "month to date": ("querySpend", {}),
    "last month by service, compared": (
        "querySpend",
        {"period": "last_month", "group_by": ["service"], "compare_to": "previous_period"},
    ),
    "12 months by month and tag:env": (
        "querySpend",
        {"period": "last_12_months", "granularity": "month", "group_by": ["provider", "tag:env"]},
    ),
    "30 days by day and service, filtered": (
        "querySpend",
        {
            "period": "last_30_days",
            "granularity": "day",
            "group_by": ["service"],
            "filters": [{"dimension": "provider", "op": "in", "values": ["AWS"]}],
        },
    ),
}


def measure() -> list[Row]:
    from django.conf import settings

    settings.MCP_RATE_LIMIT_PER_MINUTE = 100_000_000
    settings.LAKE_ANSWERS_BYTES = (
        0  # each turn asks the lake; bench_mcp_peer and bench_pages have the other case
    )
    call_command("load_demo", verbosity=0)
    key = json.loads(handout.path().read_text())["mcp_key_read"]
    credential = authenticate_bearer(key)
    assert credential is not None
    return [*_protocol(key, credential), *_questions(key, credential), *_over_http(key)]


# The protocol


def _protocol(key: str, credential: Credential) -> Iterator[Row]:
    """Measure a tool that does nothing and each step around it."""
    toys = make_toys()
    toys.freeze()
    toy_server = make_server(toys)
    send = _sender(make_endpoint(lambda: toy_server), key)
    echo = toys.get("echo")
    assert echo is not None
    call, body = _call(credential), _body("echo", {"top": "3"})
    answer = run_tool(echo, {}, call)
    timings = best(
        whole=lambda: send(body),
        credential=lambda: authenticate_bearer(key, client="bench"),
        rate=lambda: seconds_to_wait(credential),
        parse=lambda: jsonrpc.parse(body),
        tool=lambda: run_tool(echo, {"top": "3"}, call),
        encode=lambda: jsonrpc.encode_result(1, {"structuredContent": msgspec.Raw(answer.answer)}),
    )
    real = _sender(make_endpoint(server), key)
    timings |= best(list=lambda: real(_message("tools/list", {})))
    yield {
        "one call, ms": "a tool that does nothing",
        "total": timings["whole"],
        "credential and last use": timings["credential"],
        "rate limit": timings["rate"],
        "parse": timings["parse"],
        "arguments, transaction, tool": timings["tool"],
        "encode": timings["encode"],
        "tools/list, total": timings["list"],
    }


# Real questions


def _questions(key: str, credential: Credential) -> Iterator[Row]:
    send = _sender(make_endpoint(server), key)
    for name, (tool_name, arguments) in QUESTIONS.items():
        tool = registry.get(tool_name)
        assert tool is not None
        yield _question(name, tool, arguments, credential, send)


def _question(
    name: str,
    tool: Tool,
    arguments: Mapping[str, Any],
    credential: Credential,
    send: Callable[[bytes], bytes],
) -> Row:
    """Measure the whole call, its lake part and the remaining parts."""
    call, body = _call(credential), _body(tool.name, arguments)
    decoded = decode_arguments(tool.arguments, arguments, tool=tool.name)
    with account_scope(credential.account):
        answer = tool.handler(call, decoded)
    with _timed_lake() as lake:
        turns = [_turn(lambda: send(body), lake) for _ in range(TURNS + 1)][1:]
    whole, compiling, query = min(turns, key=lambda turn: turn[0])
    encode = best(encode=lambda: encode_answer(answer))["encode"]
    return {
        "query, ms": name,
        "total": whole,
        "lake query": query,
        "own": whole - query,
        "of it: compiling": compiling,
        "encoding": encode,
        "other": whole - query - compiling - encode,
        "lake queries": lake.queries,
        "answer bytes": len(encode_answer(answer)),
    }


class _Lake:
    """Seconds in the engine and in its compiler."""

    running = compiling = 0.0
    queries = 0


def _turn(action: Callable[[], object], lake: _Lake) -> tuple[float, float, float]:
    """Return milliseconds of the action, of compiling, and of the lake query."""
    lake.running, lake.compiling, lake.queries = 0.0, 0.0, 0
    start = time.perf_counter()
    action()
    whole = time.perf_counter() - start
    return whole * 1_000, lake.compiling * 1_000, (lake.running - lake.compiling) * 1_000


@contextmanager
def _timed_lake() -> Iterator[_Lake]:
    """Counts the time inside the engine while the block runs."""
    lake, run, compile_query = _Lake(), engine.run, compiler.compile_query

    def timed_run(*args: Any, **kwargs: Any) -> pa.Table:
        lake.queries += 1
        start = time.perf_counter()
        try:
            return run(*args, **kwargs)
        finally:
            lake.running += time.perf_counter() - start

    def timed_compile(*args: Any, **kwargs: Any) -> compiler.Query:
        start = time.perf_counter()
        try:
            return compile_query(*args, **kwargs)
        finally:
            lake.compiling += time.perf_counter() - start

    engine.run, compiler.compile_query = timed_run, timed_compile
    try:
        yield lake
    finally:
        engine.run, compiler.compile_query = run, compile_query


# Over HTTP


def _over_http(key: str) -> Iterator[Row]:
    """Measure granian in a separate process on the same data, with one client and with several."""
    same = {"DATABASE_URL": os.environ["DATABASE_URL"], "VAR_DIR": os.environ["VAR_DIR"]}
    with serve(**same, **UNLIMITED) as live:
        for name, body in (
            ("ping", _message("ping", {})),
            ("tools/list", _message("tools/list", {})),
            *((name, _body(tool, tool_arguments)) for name, (tool, tool_arguments) in QUESTIONS.items()),
        ):
            single_client = _ask_often(live.mcp_url, key, body, clients=1)
            together = _ask_often(live.mcp_url, key, body, clients=CLIENTS)
            yield {
                "over HTTP": name,
                "one client, median ms": single_client[0],
                "p99 ms": single_client[1],
                f"{CLIENTS} clients, requests a second": together[2],
            }


def _ask_often(url: str, key: str, body: bytes, *, clients: int) -> tuple[float, float, float]:
    """Return median and p99 in ms, and requests per second."""

    def ask(times: int) -> list[float]:
        seconds = []
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        with httpx.Client(headers=headers, timeout=60) as client:
            for _ in range(times):
                start = time.perf_counter()
                answer = client.post(url, content=body)
                seconds.append((time.perf_counter() - start) * 1_000)
                assert answer.status_code == 200
                assert b'"isError":true' not in answer.content
        return seconds

    ask(5)
    times = REQUESTS // 10 if b"querySpend" in body else REQUESTS // 4
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        seconds = [second for some in pool.map(ask, [times] * clients) for second in some]
    return median(seconds), quantiles(seconds, n=100)[-1], len(seconds) / (time.perf_counter() - start)


def _sender(endpoint: Callable[..., Any], key: str) -> Callable[[bytes], bytes]:
    factory, headers = RequestFactory(), {"authorization": f"Bearer {key}", "user-agent": "bench"}

    def send(body: bytes) -> bytes:
        answer = endpoint(factory.post(PATH, body, content_type="application/json", headers=headers))
        assert answer.status_code == 200
        content: bytes = answer.content
        return content

    return send


def best(**actions: Callable[[], object]) -> dict[str, float]:
    """Return the fastest time of each action in ms. Actions take turns; the first turn is warm-up."""
    timings: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(TURNS * 4):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            timings[name].append((time.perf_counter() - start) * 1_000)
    return {name: min(values[1:]) for name, values in timings.items()}


def _call(credential: Credential) -> ToolCall:
    return ToolCall(credential=credential, deadline=time.monotonic() + 3600, console="http://127.0.0.1/a/x/")


def _body(tool: str, arguments: Mapping[str, Any]) -> bytes:
    return _message("tools/call", {"name": tool, "arguments": arguments})


def _message(method: str, params: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
