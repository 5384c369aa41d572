"""Checks of every request with a credential before an endpoint reads it: admission, credential, rate, host, origin,
size.

The endpoints are MCP (`views.py`) and REST (`rest/`). They share the rate limits: requests of both are counted
together.
"""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from accounts.bearer import BearerError, bearer_token, refusal_of
from accounts.credentials import Credential, authenticate_bearer
from accounts.keys import PREFIX
from accounts.limits import limit_of
from accounts.oauth.resource import RESOURCE_PATH
from accounts.oauth.tokens import ACCESS_PREFIX
from accounts.services.suspension import suspension_message
from finops.lib import request_body
from finops.lib.ratelimit import rate_limiter
from finops.web.admission import REFUSAL, TENANT, Refusal, tenant
from mcpserver import cors
from mcpserver.context import ToolCall

TOOL_SECONDS = 20.0
SCOPES = "mcp:read mcp:write"
_READ_FACTOR = 4
"""A body of up to this many times its limit is read to its end, since its refusal names the id of its request."""


class HttpError(Exception):
    """The request is refused. `body` is the part of the body that was read, None if none was."""

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


def admit(request: HttpRequest) -> ToolCall:
    """Return the call that a request may make, and record the use of the credential. Raises HttpError.

    The credential is checked first, so that every request with a key counts as a use of the key, also a refused
    request.
    """
    _check_admission(request)
    deadline = time.monotonic() + TOOL_SECONDS
    credential = _authenticate(request)
    if message := suspension_message(credential.account):
        raise HttpError(HTTPStatus.FORBIDDEN, message)
    request.META[TENANT] = tenant(credential.account.pk)
    check_rate(credential)
    _check_origin(request)
    console = f"{settings.PUBLIC_URL}/a/{credential.account.slug}/"
    return ToolCall(credential=credential, deadline=deadline, console=console)


def seconds_to_wait(credential: Credential, *, requests: int = 1) -> int:
    """Count the requests and return 0, or count nothing and return the seconds until the next is allowed."""
    key = f"mcp:{credential.kind.value}:{credential.id}"
    return rate_limiter().hit(key, limit=_rate_limit(credential), cost=requests).wait


def _rate_limit(credential: Credential) -> int:
    return limit_of(credential.account, "MCP_RATE_LIMIT_PER_MINUTE")


def _check_admission(request: HttpRequest) -> None:
    refusal: Refusal | None = request.META.get(REFUSAL)
    if refusal is not None:
        raise HttpError(refusal.status, refusal.message, refusal.headers)


_FORM: Final = "Send an access token or MCP key: Authorization: Bearer <token>"
_PREFIXES: Final = (PREFIX, ACCESS_PREFIX)


def _authenticate(request: HttpRequest) -> Credential:
    try:
        token = bearer_token(request, _FORM)
    except BearerError as error:
        raise _unauthorized_error(str(error), error="invalid_token" if error.is_invalid else "") from error
    client = "".join(filter(str.isprintable, request.headers.get("User-Agent", "")))
    credential = authenticate_bearer(token, client=client)
    if credential is None:
        message = refusal_of(token, _PREFIXES, _FORM, "This token is unknown, expired or revoked")
        raise _unauthorized_error(message, error="invalid_token")
    return credential


def _unauthorized_error(message: str, *, error: str = "") -> HttpError:
    challenge = _challenge(error=error, error_description=message if error else "", scope=SCOPES)
    return HttpError(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": challenge})


def insufficient_scope_error(tool: str, body: bytes) -> HttpError:
    """Return the error with which an OAuth client asks the person for write access."""
    message = f"{tool} needs read/write access"
    challenge = _challenge(error="insufficient_scope", error_description=message, scope=SCOPES)
    return HttpError(HTTPStatus.FORBIDDEN, message, {"WWW-Authenticate": challenge}, body=body)


def _challenge(**parts: str) -> str:
    """Return the WWW-Authenticate header in one line, `Bearer` first. Clients that can sign in find the authorization
    server by it."""
    metadata = f"{settings.PUBLIC_URL}/.well-known/oauth-protected-resource{RESOURCE_PATH}"
    parameters = {**parts, "resource_metadata": metadata}
    return "Bearer " + ", ".join(f'{key}="{value}"' for key, value in parameters.items() if value)


def check_rate(credential: Credential, *, requests: int = 1, body: bytes | None = None) -> None:
    """Count the requests. Raises HttpError above the rate limit."""
    wait = seconds_to_wait(credential, requests=requests)
    if wait:
        message = f"More than {_rate_limit(credential)} requests in a minute; wait {wait} s."
        raise HttpError(HTTPStatus.TOO_MANY_REQUESTS, message, {"Retry-After": str(wait)}, body=body)


def _check_origin(request: HttpRequest) -> None:
    """Check the origin that a browser sends; only the console's pages and origins set by an operator may call."""
    try:
        allowed = cors.allows_origin(request)
    except DisallowedHost as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "This host name is not allowed.") from error
    if not allowed:
        raise HttpError(HTTPStatus.FORBIDDEN, "This origin is not allowed.")


def read_body(request: HttpRequest) -> bytes:
    """Return the whole body. Raises HttpError for a body that is too large or incomplete."""
    limit = settings.MCP_MAX_BODY_BYTES
    too_large = f"The body is larger than {limit} bytes."
    try:
        body = request_body.read(request, _READ_FACTOR * limit)
    except request_body.BodyTooLarge as error:
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large, body=b"") from error
    except request_body.IncompleteBody as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "The body is incomplete.", body=b"") from error
    if len(body) > limit:
        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large, body=body)
    return body


def json_response(
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    *,
    content_type: str = "application/json",
) -> HttpResponse:
    always = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    response = HttpResponse(body, status=status, headers={**always, **(headers or {})})
    # The length is stated, so that no server sends the response in chunks.
    response["Content-Length"] = str(len(body))
    if body:
        response["Content-Type"] = content_type
    else:
        del response["Content-Type"]
    return response
