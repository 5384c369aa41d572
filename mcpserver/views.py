"""POST /api/mcp over HTTP: http_request.py checks credential, rate, origin and size; protocol.py does the rest.

The credential is checked first, so that every request with a key counts as a use of the key, also a refused request.
Every response is JSON, since MCP clients cannot use HTML.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from accounts.oauth.resource import RESOURCE_PATH, resource
from finops.lib import request_body
from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from mcpserver import cors, jsonrpc, protocol
from mcpserver.http_request import (
    HttpError,
    admit,
    check_rate,
    insufficient_scope_error,
    json_response,
    read_body,
)
from mcpserver.jsonrpc import RpcError
from mcpserver.method_context import Server
from mcpserver.results import InsufficientScope, new_incident
from mcpserver.server import server as default_server

PATH = RESOURCE_PATH
ID_BYTES = 64 * 1024
"""A longer body of a request that is refused without reading it, as anonymous ones are, gets a response without an id."""

log = logging.getLogger(__name__)


def is_opened_by_person(request: HttpRequest) -> bool:
    """Return whether a person opened the server's address in a browser."""
    headers = request.headers
    return (
        request.method == "GET"
        and request.path_info == PATH
        and "text/html" in headers.get("Accept", "")
        and "Authorization" not in headers
    )


View = Callable[[HttpRequest], HttpResponse]


def make_endpoint(server: Callable[[], Server]) -> View:
    """The view of a server; tests pass a server with tools of their own."""

    @csrf_exempt
    def endpoint(request: HttpRequest) -> HttpResponse:
        if is_opened_by_person(request):
            return render(request, "mcpserver/connect.html", {"url": resource()})
        response = (
            cors.preflight(request) if cors.is_preflight(request) else _answer_or_error(request, server)
        )
        return cors.share(request, response)

    return endpoint


def _answer_or_error(request: HttpRequest, server: Callable[[], Server]) -> HttpResponse:
    try:
        return _answer(request, server())
    except HttpError as http_error:
        body = http_error.body
        if body is None:
            body = request_body.read_in_memory(request, ID_BYTES)
        return _error(http_error.status, http_error.message, http_error.headers, jsonrpc.read_id(body))
    except Exception as error:
        incident = new_incident()
        if is_unavailable(error):
            log.warning("incident %s at %s: %s", incident, PATH, error)
            return _unavailable(request, incident)
        log.exception("incident %s at %s", incident, PATH)
        return _error(HTTPStatus.INTERNAL_SERVER_ERROR, f"Internal error (incident {incident})")


def _unavailable(request: HttpRequest, incident: str) -> HttpResponse:
    message = f"The database is not available; try again in {RETRY_SECONDS} seconds (incident {incident})"
    body = request_body.read_in_memory(request, ID_BYTES)
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return _error(HTTPStatus.SERVICE_UNAVAILABLE, message, headers, jsonrpc.read_id(body))


def _answer(request: HttpRequest, server: Server) -> HttpResponse:
    call = admit(request)
    if request.method != "POST":
        raise HttpError(
            HTTPStatus.METHOD_NOT_ALLOWED, "Use POST. This server does not open streams.", {"Allow": "POST"}
        )
    body = read_body(request)
    if (extra := protocol.count_requests(body) - 1) > 0:
        check_rate(call.credential, requests=extra, body=body)
    try:
        reply = protocol.answer(body, _protocol_headers(request), server, call)
    except InsufficientScope as tool:
        raise insufficient_scope_error(str(tool), body) from tool
    return json_response(reply.status, reply.body)


def _protocol_headers(request: HttpRequest) -> protocol.Headers:
    return protocol.Headers(
        version=_header(request, "MCP-Protocol-Version"),
        method=_header(request, "Mcp-Method"),
        name=_header(request, "Mcp-Name"),
    )


def _header(request: HttpRequest, name: str) -> str | None:
    value = request.headers.get(name)
    return None if value is None else value.strip(" \t")


def _error(
    status: HTTPStatus, message: str, headers: dict[str, str] | None = None, id_: jsonrpc.Id | None = None
) -> HttpResponse:
    """The response to a request refused by HTTP. Its JSON-RPC code is the HTTP status, which is outside the range
    that JSON-RPC and MCP reserve."""
    return json_response(status, jsonrpc.encode_refusal(RpcError(status, message), id_), headers)


endpoint = make_endpoint(default_server)
