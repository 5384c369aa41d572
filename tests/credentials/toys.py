"""The MCP and REST endpoints with two small tools, one that reads and one that writes, in place of the real ones."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from mcpserver.rest.endpoint import RestApi
from mcpserver.views import PATH, make_endpoint
from tests.mcpserver.mcp_client import server_of
from tests.mcpserver.toys import make_toys

REAL = "finops.machine_endpoints.serve_programs"
TOYS = "tests.credentials.toys.toy_mcp_middleware"
REST_TOOLS = "/api/v1/tools/"


def with_toys(middleware: list[str]) -> list[str]:
    at = middleware.index(REAL)
    return [*middleware[:at], TOYS, *middleware[at:]]


_server = server_of(make_toys())
_endpoint = make_endpoint(lambda: _server)
_rest = RestApi(lambda: _server)


def toy_mcp_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(REST_TOOLS):
            return _rest.tool(request, request.path_info.removeprefix(REST_TOOLS))
        return _endpoint(request) if request.path_info == PATH else get_response(request)

    return middleware
