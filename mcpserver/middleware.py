"""Serves /api/mcp and /api/v1 before every other middleware.

So the middleware of pages does not run and costs no time: no session cookie is read, and no CSRF check, redirect or
HTML error page occurs. The paths are in urls.py as well, for `reverse` and for tests that check all URLs.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from mcpserver.rest.endpoint import PREFIX
from mcpserver.views import PATH, endpoint


def mcp_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return endpoint(request) if request.path_info == PATH else get_response(request)

    return middleware


def rest_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PREFIX):
            return get_response(request)
        match = resolve(request.path_info, "mcpserver.rest.urls")
        answer: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return answer

    return middleware
