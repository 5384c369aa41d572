"""Serves /api/mcp before every other middleware.

So nothing of the pages' world can touch it: no session cookie is ever read, no CSRF check, redirect or HTML error
page can answer, and it costs no time. The path is in urls.py as well, for `reverse` and for the walks over all URLs.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from mcpserver.views import PATH, endpoint


def mcp_door(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return endpoint(request) if request.path_info == PATH else get_response(request)

    return middleware
