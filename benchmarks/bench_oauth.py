"""OAuth: the cost of a credential per call, and of a token per hour.

Everything runs in this process, through the whole middleware for rows marked HTTP. `statements` counts SQL, including
savepoints.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.credentials import authenticate_bearer
from accounts.keys import mint_mcp_key
from benchmarks.table import Row, timings
from tests.accounts.oauth.flow import OAuthClient, tokens_of
from tests.cast import Cast, make_cast
from tests.mcpserver.mcp_client import McpClient

TURNS = 60  # of the token calls together: well within the grace that one of them measures
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def measure() -> list[Row]:
    logging.getLogger("django.request").setLevel(logging.ERROR)  # one of the calls is refused each time
    cast = make_cast()
    _key, key = mint_mcp_key(account=cast.account, actor=cast.actor, name="bench")
    client = OAuthClient()
    token = client.connect(cast.member).access
    calls = {
        "credential: MCP key": lambda: authenticate_bearer(key, client="bench"),
        "credential: OAuth token": lambda: authenticate_bearer(token, client="bench"),
        "credential: neither": lambda: authenticate_bearer("garbage"),
        "HTTP ping with an MCP key": lambda: McpClient(key).http(PING),
        "HTTP ping with an OAuth token": lambda: McpClient(token).http(PING),
    }
    return [*_rows(calls), *_rows(_token_calls(cast, client))]


def _token_calls(cast: Cast, client: OAuthClient) -> dict[str, Callable[[], Any]]:
    http = Client()
    codes = _each(client.code(cast.member) for _ in range(TURNS + 2))
    newest = [client.connect(cast.member).refresh]
    rotated = client.connect(cast.member).refresh
    client.refresh(rotated)

    def refresh() -> None:
        newest[0] = tokens_of(client.refresh(newest[0])).refresh

    return {
        "metadata document": lambda: http.get("/.well-known/oauth-authorization-server"),
        "register, as before": client.register,
        "code for tokens": lambda: tokens_of(client.exchange(next(codes))),
        "refresh": refresh,
        "refresh again, within the grace": lambda: tokens_of(client.refresh(rotated)),
        "refresh with an unknown token": lambda: client.refresh("fort_" + "a" * 43),
    }


def _each(codes: Iterator[str]) -> Iterator[str]:
    cache.clear()
    return iter(list(codes))


def _rows(calls: dict[str, Callable[[], Any]]) -> Iterator[Row]:
    statements = {name: _statements(call) for name, call in calls.items()}
    unlimited = {name: _without_limits(call) for name, call in calls.items()}
    for name, each in timings(TURNS, **unlimited).items():
        yield {"what": name, "ms": each.clock, "ms of CPU": each.cpu, "statements": statements[name]}


def _statements(call: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        call()
    return len(queries)


def _without_limits(call: Callable[[], Any]) -> Callable[[], Any]:
    def limitless() -> Any:
        cache.clear()
        return call()

    return limitless
