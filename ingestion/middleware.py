"""Serves the push endpoint before the middleware that is for pages: no session is read, no HTML page can answer."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from ingestion.views.push import PATH, push


def push_door(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return push(request) if request.path_info == PATH else get_response(request)

    return middleware
