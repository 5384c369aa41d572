"""CORS for clients in a browser: from our own pages and the origins set by an operator, never with a cookie.

Requests from pages of any other origin are refused before a tool runs, so that no site can use a person's server
through her browser (DNS rebinding).
"""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

ALLOWED_HEADERS = "Authorization, Content-Type, Accept, Idempotency-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"
EXPOSED_HEADERS = "WWW-Authenticate, Retry-After, Idempotent-Replayed, Mcp-Session-Id"


def allows_origin(request: HttpRequest) -> bool:
    """Return whether the origin is allowed. Raises DisallowedHost for a host that is not served here."""
    own = f"{request.scheme}://{request.get_host()}"
    return request.headers.get("Origin") in (None, own, settings.PUBLIC_URL, *settings.MCP_ALLOWED_ORIGINS)


def is_preflight(request: HttpRequest) -> bool:
    """Return whether the request is a preflight, which browsers send without a credential."""
    return (
        request.method == "OPTIONS"
        and "Origin" in request.headers
        and "Access-Control-Request-Method" in request.headers
    )


def preflight(request: HttpRequest, methods: str = "POST") -> HttpResponse:
    response = HttpResponse(status=HTTPStatus.NO_CONTENT if _shares(request) else HTTPStatus.FORBIDDEN)
    del response["Content-Type"]
    if _shares(request):
        response["Access-Control-Allow-Methods"] = methods
        response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response["Access-Control-Max-Age"] = "86400"
    return response


def share(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Allow scripts of the origin to read the response, whatever its status."""
    if "Origin" in request.headers:
        response["Vary"] = "Origin"
        if _shares(request):
            response["Access-Control-Allow-Origin"] = request.headers["Origin"]
            response["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
    return response


def _shares(request: HttpRequest) -> bool:
    try:
        return allows_origin(request)
    except DisallowedHost:
        return False
