"""The MCP door with toy tools behind it, one that reads and one that writes, where the real one stands."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from mcpserver.views import PATH, make_endpoint
from tests.mcpserver.door import server_of
from tests.mcpserver.toys import make_toys

REAL = "mcpserver.middleware.mcp_door"
TOYS = "tests.credentials.toys.toy_door"

_server = server_of(make_toys())
_endpoint = make_endpoint(lambda: _server)


def toy_door(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return _endpoint(request) if request.path_info == PATH else get_response(request)

    return middleware
