"""Answers over HTTP to programs: documents, the push endpoint, the authorization server, MCP messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client, override_settings

from finops.lib import clock
from ingestion import openapi
from mcpserver.server import server
from tests import recordings
from tests.cast import Cast
from tests.conformance import schemas
from tests.ingestion.push_client import create_push_client, event
from tests.mcpserver.mcp_client import META, McpClient, mint

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
# What differs between two runs: seconds to wait, and ids that are random.
VARYING = (
    (re.compile(r"(RateLimit-Reset|Retry-After): \d+"), r"\1: N"),
    (re.compile(r"Usage-Batch-Id: \S+"), "Usage-Batch-Id: ID"),
    (re.compile(r"fmcp_\w{10}"), "fmcp_LOOKUP"),
    (re.compile(r"Expires: .* GMT"), "Expires: TIME"),
    (re.compile(r'"client_id": ?"[^"]+"'), '"client_id": "ID"'),
    (re.compile(r'"client_id_issued_at": ?\d+'), '"client_id_issued_at": N'),
)
POLICY = "Content-Security-Policy"
DOCUMENTS = (
    "/api/usage/openapi.json",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/api/mcp",
    "/.well-known/security.txt",
    "/healthz",
)


@pytest.fixture(autouse=True)
def _no_address_of_an_earlier_test() -> None:
    """A process keeps these two with the PUBLIC_URL that they were first asked with."""
    openapi.document.cache_clear()
    server.cache_clear()


def http_text(request: str, answer: Any) -> str:
    """An answer with its headers, without its length and id."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    headers = sorted(
        f"{name}: {_directives(value) if name == POLICY else value}"
        for name, value in answer.headers.items()
        if name not in ("Content-Length", "X-Request-Id")
    )
    text = "\n".join([f"> {request}", str(answer.status_code), *headers, "", body.decode()])
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text.rstrip() + "\n\n"


def _directives(policy: str) -> str:
    """In an order of their own: the policy's differs from process to process."""
    return "; ".join(sorted(policy.split("; ")))


@pytest.mark.django_db
def test_every_public_document_is_as_recorded() -> None:
    with clock.frozen(NOW):
        texts = [http_text(f"GET {path}", Client().get(path)) for path in DOCUMENTS]

    recordings.compare_text("interface/documents.txt", "".join(texts))


def test_answers_of_the_push_endpoint_are_as_recorded(cast: Cast) -> None:
    push_client = create_push_client(cast)
    body = json.dumps({"events": [event()]})
    cases: Mapping[str, Callable[[], Any]] = {
        "one event": lambda: push_client.push(event()),
        "an event id, twice": lambda: push_client.push(event(event_id="e"), event(event_id="e")),
        "the event id again": lambda: push_client.push(event(event_id="e")),
        "an Idempotency-Key": lambda: push_client.push(event(), idempotency_key="k"),
        "the same again": lambda: push_client.push(event(), idempotency_key="k"),
        "the same key with another body": lambda: push_client.push(event(), event(), idempotency_key="k"),
        "an Idempotency-Key that is none": lambda: push_client.push(event(), idempotency_key="k" * 256),
        "a dry run": lambda: push_client.send(body, path="?dry_run=true"),
        "a dry run that is neither": lambda: push_client.send(body, path="?dry_run=maybe"),
        "errors of events": lambda: push_client.push(*WRONG_EVENTS),
        "no JSON": lambda: push_client.send(b"{"),
        "no events": lambda: push_client.send(b"{}"),
        "too many events": lambda: push_client.push(*[{}] * 10_001),
        "no key": lambda: push_client.send(body, authorization=""),
        "another key": lambda: push_client.send(body, authorization="Bearer fuse_x"),
        "GET": lambda: push_client.send(b"", method="GET"),
        "an unknown encoding": lambda: push_client.send(body, content_encoding="br"),
        "a damaged gzip": lambda: push_client.send(b"no gzip", content_encoding="gzip"),
        "too large": lambda: push_client.send(b" " * (16 * 2**20 + 1)),
        "another content type": lambda: Client().post(
            "/api/usage/events", body, "text/plain", headers={"authorization": f"Bearer {push_client.key}"}
        ),
    }
    texts = [http_text(name, send()) for name, send in cases.items()]
    with override_settings(USAGE_RATE_LIMIT_PER_MINUTE=1):
        texts.append(http_text("too often", push_client.push(event())))

    recordings.compare_text("interface/push.txt", "".join(texts))


WRONG_EVENTS: tuple[Any, ...] = (
    event(customer_id=""),
    event(customer_id=...),
    event(customer_id="c" * 256),
    event(metric=""),
    event(metric="m" * 101),
    event(quantity="x"),
    event(quantity=True),
    event(quantity=1e30),
    event(timestamp="yesterday"),
    event(timestamp=...),
    event(dimensions=[]),
    event(dimensions={"a": 1}),
    event(unit=5),
    event(event_id=""),
    "no object",
)


def test_answers_of_the_authorization_server_are_as_recorded(cast: Cast) -> None:
    client = Client()

    def form(path: str, **fields: str) -> Any:
        return client.post(path, urlencode(fields), "application/x-www-form-urlencoded")

    def as_json(**fields: Any) -> Any:
        return client.post("/oauth/register", fields, "application/json")

    cases: Mapping[str, Callable[[], Any]] = {
        "register": lambda: as_json(client_name="Recorder", redirect_uris=["http://127.0.0.1:7777/callback"]),
        "register without a redirect URI": lambda: as_json(client_name="Recorder"),
        "register another scheme": lambda: as_json(redirect_uris=["ftp://example.com/"]),
        "a grant type that there is not": lambda: form("/oauth/token", grant_type="password"),
        "an unknown code": lambda: form(
            "/oauth/token", grant_type="authorization_code", code="x", client_id="x"
        ),
        "an unknown refresh token": lambda: form(
            "/oauth/token", grant_type="refresh_token", refresh_token="x"
        ),
        "a token request as JSON": lambda: client.post("/oauth/token", {}, "application/json"),
        "parameters in the URL": lambda: client.post("/oauth/token?code=x"),
        "revoke an unknown token": lambda: form("/oauth/revoke", token="x"),
    }
    with clock.frozen(NOW):
        texts = [http_text(name, send()) for name, send in cases.items()]

    recordings.compare_text("interface/oauth.txt", "".join(texts))


def test_every_list_of_the_mcp_server_is_as_recorded(cast: Cast) -> None:
    reads, writes = McpClient(mint(cast)), McpClient(mint(cast, "read_write"))
    lists = {
        method: writes.request(method)
        for method in (
            "server/discover",
            "tools/list",
            "prompts/list",
            "resources/list",
            "resources/templates/list",
        )
    }
    lists["tools/list with a read key"] = {
        "names": [tool["name"] for tool in reads.result("tools/list")["tools"]]
    }
    for revision in ("2025-03-26", "2025-06-18", "2025-11-25"):
        started = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        lists[f"initialize {revision}"] = writes.request("initialize", started, revision=revision)
    lists["tools/list 2025-03-26"] = writes.request("tools/list", revision="2025-03-26")
    lists["prompts/list 2025-03-26"] = writes.request("prompts/list", revision="2025-03-26")

    recordings.compare_json("interface/mcp_lists.json", lists)


def test_every_error_of_the_mcp_server_is_as_recorded(cast: Cast) -> None:
    mcp_client = McpClient(mint(cast))
    modern = {"mcp-protocol-version": schemas.MODERN}

    def call(name: str, arguments: Any = None, key: McpClient = mcp_client) -> Any:
        params = {"name": name, "arguments": arguments or {}, "_meta": META}
        return send("tools/call", params, key, {"mcp-name": name})

    def send(
        method: str, params: Any, key: McpClient = mcp_client, headers: Mapping[str, str] | None = None
    ) -> Any:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return key.http(json.dumps(message).encode(), {**modern, "mcp-method": method, **(headers or {})})

    cases: Mapping[str, Callable[[], Any]] = {
        "no credential": lambda: call("listTeams", key=McpClient(None)),
        "an unknown credential": lambda: call("listTeams", key=McpClient("fmcp_x")),
        "an unknown tool": lambda: call("listTeam"),
        "a tool that changes what none changes": lambda: call("updateBudget"),
        "an unknown argument": lambda: call("listTeams", {"serach": "x"}),
        "an argument of another type": lambda: call("querySpend", {"limit": "many"}),
        "an unknown choice": lambda: call("querySpend", {"group_by": ["colour"]}),
        "a day that is none": lambda: call(
            "querySpend", {"start_date": "2026-02-30", "end_date": "2026-03-01"}
        ),
        "a range that ends before it begins": lambda: call(
            "querySpend", {"start_date": "2026-03-02", "end_date": "2026-03-01"}
        ),
        "a write tool with a read key": lambda: call("create_budget", {"name": "x", "amount": 1}),
        "a tool without a name": lambda: send("tools/call", {"_meta": META}),
        "an unknown prompt": lambda: send(
            "prompts/get", {"name": "no", "_meta": META}, headers={"mcp-name": "no"}
        ),
        "an unknown resource": lambda: send(
            "resources/read", {"uri": "x://y", "_meta": META}, headers={"mcp-name": "x://y"}
        ),
        "an unknown method": lambda: send("tools/run", {"_meta": META}),
        "a cursor": lambda: send("tools/list", {"cursor": "x", "_meta": META}),
        "a header that differs": lambda: call_as(mcp_client, {"mcp-method": "tools/list"}),
        "an unknown revision": lambda: call_as(mcp_client, {"mcp-protocol-version": "2020-01-01"}),
        "a foreign origin": lambda: call_as(mcp_client, {"origin": "https://evil.example"}),
        "no JSON": lambda: mcp_client.http(b"{", modern),
        "no message": lambda: mcp_client.http(b"{}", modern),
        "a batch": lambda: mcp_client.http(b"[]", modern),
        "GET": lambda: mcp_client.http(b"", method="GET"),
        "DELETE": lambda: mcp_client.http(b"", method="DELETE"),
        "too large": lambda: mcp_client.http(b" " * (2**20 + 1), modern),
        "a notification": lambda: mcp_client.http(
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}', LEGACY
        ),
    }
    texts = [http_text(name, ask()) for name, ask in cases.items()]
    with override_settings(MCP_RATE_LIMIT_PER_MINUTE=1):
        texts.append(http_text("too often", call("listTeams")))

    recordings.compare_text("interface/mcp_errors.txt", "".join(texts))


LEGACY = {"mcp-protocol-version": "2025-11-25"}


def call_as(mcp_client: McpClient, headers: Mapping[str, str]) -> Any:
    params = {"name": "listTeams", "arguments": {}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    all_headers = {
        "mcp-protocol-version": schemas.MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "listTeams",
    }
    return mcp_client.http(json.dumps(message).encode(), {**all_headers, **headers})
