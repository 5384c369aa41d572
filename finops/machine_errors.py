"""Errors of addresses that programs call, where no endpoint answers: in the form of the endpoints with this prefix."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, get_resolver
from django.views.decorators.csrf import csrf_exempt

from accounts.oauth.endpoints import problem
from accounts.oauth.resource import RESOURCE_PATH, resource
from finops.lib.request_body import read_in_memory
from mcpserver import jsonrpc
from mcpserver.http_request import json_response
from mcpserver.jsonrpc import RpcError
from mcpserver.rest.endpoint import PREFIX as REST
from mcpserver.rest.problems import problem_response
from mcpserver.views import ID_BYTES

URLS: Final = "finops.machine_endpoints"
_BODY_KINDS: Final = ("json", "protobuf")
_METADATA: Final = "/.well-known/oauth-authorization-server"
_OTHER_METADATA: Final = ("openid-configuration", "oauth-authorization-server")
"""Names of the document that clients look for, also below or before the server's path."""
_ONLY_METRICS: Final = "OpenTelemetry: only metrics are read, at {url}. Set OTEL_TRACES_EXPORTER=none and OTEL_LOGS_EXPORTER=none."


@csrf_exempt
def wrong_address(request: HttpRequest) -> HttpResponse:
    return error_response(request, HTTPStatus.NOT_FOUND, _right_address(request))


def is_of_program(request: HttpRequest) -> bool:
    """Return whether a request for a page is that of a program, which has a wrong address and cannot read HTML."""
    accepts = request.headers.get("Accept", "")
    kind = request.headers.get("Content-Type", "") if request.method not in ("GET", "HEAD") else ""
    return "text/html" not in accepts and (any(name in kind for name in _BODY_KINDS) or "json" in accepts)


def error_response(
    request: HttpRequest, status: HTTPStatus, message: str, headers: dict[str, str] | None = None
) -> HttpResponse:
    """Return the error in the form of the endpoints with this prefix, readable by scripts of any origin."""
    address = f"{request.path_info}/"
    if is_of_mcp(request):
        id_ = jsonrpc.read_id(read_in_memory(request, ID_BYTES))
        response = json_response(status, jsonrpc.encode_refusal(RpcError(status, message), id_), headers)
    elif address.startswith(REST):
        response = problem_response(status, message, headers)
    elif address.startswith(("/oauth/", "/.well-known/")):
        error = "temporarily_unavailable" if status == HTTPStatus.SERVICE_UNAVAILABLE else "invalid_request"
        response = problem(status, error, message, headers)
    else:
        response = JsonResponse(
            {"error": {"code": status.name.lower(), "message": message}}, status=status, headers=headers or {}
        )
    response["Access-Control-Allow-Origin"] = "*"
    return response


def is_of_mcp(request: HttpRequest) -> bool:
    """Return whether a request is that of an MCP client, each of which accepts event streams, as no page does."""
    is_below = f"{request.path_info}/".startswith(f"{RESOURCE_PATH}/")
    return is_below or "text/event-stream" in request.headers.get("Accept", "")


def _right_address(request: HttpRequest) -> str:
    if any(name in request.path_info for name in _OTHER_METADATA):
        return f"The metadata of the authorization server is at {settings.PUBLIC_URL}{_METADATA}"
    if is_of_mcp(request):
        return f"The MCP server is at {resource()}"
    if request.path_info.endswith(("/v1/traces", "/v1/logs")):
        return _ONLY_METRICS.format(url=f"{settings.PUBLIC_URL}/api/usage/otlp/v1/metrics")
    addresses = _addresses()
    below = [address for address in addresses if address.startswith(request.path_info)]
    [nearest] = get_close_matches(request.path_info, below or addresses, n=1, cutoff=0)
    return f"There is no endpoint at this address. The nearest is {settings.PUBLIC_URL}{nearest}"


@cache
def _addresses() -> list[str]:
    """Return all addresses without parameters."""
    resolvers = get_resolver(URLS).url_patterns
    patterns = [each for resolver in resolvers for each in getattr(resolver, "url_patterns", [resolver])]
    return [
        f"/{each.pattern}"
        for each in patterns
        if isinstance(each, URLPattern) and not each.pattern.converters and "(" not in str(each.pattern)
    ]
