"""Serves /api/events before the middleware for pages: no session is read, and no HTML page is returned."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from finops.change_events.views import push


def event_push_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        answer = push.push if request.path_info == push.PATH else get_response
        return answer(request)

    return middleware
