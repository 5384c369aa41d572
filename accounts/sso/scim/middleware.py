"""A middleware that serves /scim/v2/ before the middleware of pages: it reads no session and never responds with
HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

PREFIX: Final = "/scim/v2/"


def scim_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PREFIX):
            return get_response(request)
        match = resolve(request.path_info, "accounts.sso.scim.urls")
        answer: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return answer

    return middleware
