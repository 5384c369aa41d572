"""Middleware that serves `/api/costs` before the middleware for pages: no session is read, and no response is an HTML page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

PREFIX: Final = "/api/costs/"


def cost_push_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PREFIX):
            return get_response(request)
        match = resolve(request.path_info, "finops.connections.api_urls")
        answer: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return answer

    return middleware
