"""The response to a page's request when no slot is free."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from finops.web.admission import BUSY

MESSAGE = "Too many requests are waiting. Nothing was done. Retry in a few seconds."


def answer_busy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return busy(request.META[BUSY]) if BUSY in request.META else get_response(request)

    return middleware


def busy(seconds: int) -> HttpResponse:
    return HttpResponse(
        MESSAGE,
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        content_type="text/plain; charset=utf-8",
        headers={"Retry-After": str(seconds), "Cache-Control": "no-store"},
    )
