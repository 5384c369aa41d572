"""A client of the MCP endpoint. Every answer it gets is checked against the official schema of its revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from django.test import Client, RequestFactory

from accounts.keys import mint_mcp_key
from mcpserver.method_context import Server
from mcpserver.registry import ToolRegistry
from mcpserver.results import MAX_ANSWER_BYTES
from mcpserver.server import make_server
from mcpserver.views import PATH, make_endpoint
from tests.cast import Cast
from tests.conformance import schemas

META = {
    "io.modelcontextprotocol/protocolVersion": schemas.MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Send = Callable[..., Any]  # Client().generic, or something with its signature


def toy_server(registry: ToolRegistry) -> Send:
    """An endpoint to tools of the test's own, in place of the registered ones."""
    registry.freeze()
    endpoint = make_endpoint(lambda: make_server(registry))
    return lambda *args, **kwargs: endpoint(RequestFactory().generic(*args, **kwargs))


def server_of(registry: ToolRegistry) -> Server:
    registry.freeze()
    return make_server(registry)


def mint(cast: Cast, scope: str = "read") -> str:
    _key, plaintext = mint_mcp_key(account=cast.account, actor=cast.actor, name=f"tests {scope}", scope=scope)
    return plaintext


class McpClient:
    def __init__(self, key: str | None, send: Send | None = None) -> None:
        self.key = key
        self.send: Send = send or Client().generic

    def http(
        self, body: bytes, headers: Mapping[str, str] | None = None, method: str = "POST"
    ) -> HttpResponse:
        own_headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        all_headers = {"accept": "application/json, text/event-stream", **own_headers, **(headers or {})}
        response: HttpResponse = self.send(
            method, PATH, body, content_type="application/json", headers=all_headers
        )
        return response

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        revision: str = schemas.MODERN,
        headers: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> dict[str, Any]:
        """The JSON-RPC answer to a well-formed request, made the way a client of the revision makes it."""
        message_params: dict[str, Any] = dict(params or {})
        if revision == schemas.MODERN:
            message_params["_meta"] = {**META, **message_params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": message_params}
        all_headers = {**_headers(method, message_params, revision), **(headers or {})}
        response = self.http(json.dumps(message).encode(), all_headers)
        assert response.status_code == status, response.content
        assert response["Content-Type"] == "application/json"
        answer: dict[str, Any] = json.loads(response.content)
        assert answer["id"] == 7
        schemas.check_answer(revision, method, answer)
        return answer

    def result(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        answer = self.request(method, params, **options)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def error(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        answer = self.request(method, params, **options)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """A tool's answer. It is the same as text and as structure, and not too large."""
        result = self.call(tool, **arguments)
        text: str = result["content"][0]["text"]
        assert not result["isError"], text
        assert len(text.encode()) <= MAX_ANSWER_BYTES
        answer: dict[str, Any] = result["structuredContent"]
        assert json.loads(text) == answer
        return answer

    def problem(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that a tool refused."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        return text


def _headers(method: str, params: Mapping[str, Any], revision: str) -> dict[str, str]:
    if revision != schemas.MODERN:
        return {} if method == "initialize" else {"mcp-protocol-version": revision}
    named_by = NAMED_BY.get(method)
    named = {"mcp-name": str(params[named_by])} if named_by and named_by in params else {}
    return {"mcp-protocol-version": revision, "mcp-method": method, **named}
