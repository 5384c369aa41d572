"""POST /api/mcp, the HTTP of it: credential, rate, host, origin, method, size; protocol.py does the rest.

The credential comes first, so that every request made with a key counts as a use of it, refused ones too. Each
answer is JSON, whatever happens: an HTML page means nothing to an MCP client.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from accounts.credentials import Credential, authenticate_bearer
from finops.lib import request_body
from finops.lib.ratelimit import rate_limiter
from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from finops.web.admission import BUSY, TENANT, tenant
from mcpserver import cors, jsonrpc, protocol
from mcpserver.context import ToolCall
from mcpserver.jsonrpc import RpcError
from mcpserver.methods import Server
from mcpserver.results import InsufficientScope, new_incident
from mcpserver.server import server as default_server


def seconds_to_wait(credential: Credential, *, requests: int = 1) -> int:
    """Counts the requests and gives 0, or counts nothing and gives the seconds until the next may come."""
    key = f"mcp:{credential.kind.value}:{credential.id}"
    return rate_limiter().hit(key, limit=settings.MCP_RATE_LIMIT_PER_MINUTE, cost=requests).wait


PATH = "/api/mcp"
TOOL_SECONDS = 20.0
SCOPES = "mcp:read mcp:write"
ID_BYTES = 64 * 1024
ID_SECONDS = 0.25
"""How much of a body is read, and for how long, of a request that is refused before its body counts: for its id alone,
and strangers are refused so. Longer bodies, and such as come late, are answered without."""

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,2048}=*)")

log = logging.getLogger(__name__)

View = Callable[[HttpRequest], HttpResponse]


class HttpError(Exception):
    """The request goes no further. `body`: what was read of it, None for nothing yet."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        headers: dict[str, str] | None = None,
        *,
        body: bytes | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}
        self.body = body


def make_endpoint(server: Callable[[], Server]) -> View:
    """The view of a server; tests give it one with tools of their own."""

    @csrf_exempt
    def endpoint(request: HttpRequest) -> HttpResponse:
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
            body = request_body.read_within(request, ID_BYTES, ID_SECONDS)
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
    body = request_body.read_within(request, ID_BYTES, ID_SECONDS)
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return _error(HTTPStatus.SERVICE_UNAVAILABLE, message, headers, jsonrpc.read_id(body))


def _answer(request: HttpRequest, server: Server) -> HttpResponse:
    _check_admission(request)
    deadline = time.monotonic() + TOOL_SECONDS
    credential = _authenticate(request)
    request.META[TENANT] = tenant(credential.account.pk)
    _check_rate(credential)
    _check_origin(request)
    if request.method != "POST":
        raise HttpError(
            HTTPStatus.METHOD_NOT_ALLOWED, "Use POST. This server does not open streams.", {"Allow": "POST"}
        )
    body = _read_body(request)
    if (extra := protocol.count_requests(body) - 1) > 0:
        _check_rate(credential, requests=extra, body=body)
    console = f"{settings.PUBLIC_URL}/a/{credential.account.slug}/"
    call = ToolCall(credential=credential, deadline=deadline, console=console)
    try:
        reply = protocol.answer(body, _protocol_headers(request), server, call)
    except InsufficientScope as tool:
        raise _insufficient_scope_error(str(tool), body) from tool
    return _response(reply.status, reply.body)


def _check_admission(request: HttpRequest) -> None:
    if BUSY in request.META:
        raise HttpError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "Too many requests are waiting. Nothing was done. Retry in a few seconds.",
            {"Retry-After": str(request.META[BUSY])},
        )


def _authenticate(request: HttpRequest) -> Credential:
    header = request.headers.get("Authorization", "")
    if not header:
        raise _unauthorized_error("Send an access token or MCP key: Authorization: Bearer <token>")
    bearer = _BEARER.fullmatch(header.strip())
    client = "".join(filter(str.isprintable, request.headers.get("User-Agent", "")))
    credential = authenticate_bearer(bearer[1], client=client) if bearer else None
    if credential is None:
        raise _unauthorized_error("This token is unknown, expired or revoked", error="invalid_token")
    return credential


def _unauthorized_error(message: str, *, error: str = "") -> HttpError:
    challenge = _challenge(error=error, error_description=message if error else "", scope=SCOPES)
    return HttpError(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": challenge})


def _insufficient_scope_error(tool: str, body: bytes) -> HttpError:
    message = f"{tool} needs read/write access"
    challenge = _challenge(error="insufficient_scope", error_description=message, scope=SCOPES)
    return HttpError(HTTPStatus.FORBIDDEN, message, {"WWW-Authenticate": challenge}, body=body)


def _challenge(**parts: str) -> str:
    """One line, `Bearer` first. It leads a client that can sign in to the authorization server."""
    metadata = f"{settings.PUBLIC_URL}/.well-known/oauth-protected-resource{PATH}"
    parameters = {**parts, "resource_metadata": metadata}
    return "Bearer " + ", ".join(f'{key}="{value}"' for key, value in parameters.items() if value)


def _check_rate(credential: Credential, *, requests: int = 1, body: bytes | None = None) -> None:
    wait = seconds_to_wait(credential, requests=requests)
    if wait:
        message = f"More than {settings.MCP_RATE_LIMIT_PER_MINUTE} requests in a minute; wait {wait} s."
        raise HttpError(HTTPStatus.TOO_MANY_REQUESTS, message, {"Retry-After": str(wait)}, body=body)


def _check_origin(request: HttpRequest) -> None:
    """A browser says where a page came from; only our own pages and those an operator named may call us."""
    try:
        allowed = cors.allows_origin(request)
    except DisallowedHost as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "This host name is not allowed.") from error
    if not allowed:
        raise HttpError(HTTPStatus.FORBIDDEN, "This origin is not allowed.")


def _read_body(request: HttpRequest) -> bytes:
    limit, read = settings.MCP_MAX_BODY_BYTES, bytearray()
    try:
        for part in request_body.parts(request, limit):
            read += part
    except request_body.BodyTooLarge as error:
        read += request_body.drain_excess(request, limit, keep=True)
        message = f"The body is larger than {limit} bytes."
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, body=bytes(read)) from error
    except request_body.ClientDisconnect as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "The body is incomplete.", body=b"") from error
    return bytes(read)


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
    """HTTP refused it, so the JSON-RPC code is the status: outside the range that JSON-RPC and MCP reserve."""
    return _response(status, jsonrpc.encode_refusal(RpcError(status, message), id_), headers)


def _response(status: int, body: bytes, headers: dict[str, str] | None = None) -> HttpResponse:
    always = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    response = HttpResponse(body, status=status, headers={**always, **(headers or {})})
    # Announced, so that no server sends it in chunks.
    response["Content-Length"] = str(len(body))
    if body:
        response["Content-Type"] = "application/json"
    else:
        del response["Content-Type"]
    return response


endpoint = make_endpoint(default_server)
