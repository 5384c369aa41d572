"""The responses to requests of pages that are refused before they reach their view, or that break off in it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse, UnreadablePostError

from finops.web.admission import ARRIVING, INCOMPLETE, REFUSAL, Refusal

Middleware = Callable[[HttpRequest], HttpResponse]
_LENGTH_REQUIRED: Final = Refusal(
    HTTPStatus.LENGTH_REQUIRED,
    "length_required",
    "Send a form of this size with a Content-Length. Nothing was done.",
)


def answer_refusal(get_response: Middleware) -> Middleware:
    def middleware(request: HttpRequest) -> HttpResponse:
        refusal: Refusal | None = request.META.get(REFUSAL)
        return get_response(request) if refusal is None else _answer(refusal)

    return middleware


def read_whole_form(get_response: Middleware) -> Middleware:
    """Read a form that is still arriving before its view is called. Django takes a chunked form, and its check of CSRF one that
    breaks off, for an empty one, and a button needs no field."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if ARRIVING in request.META:
            if not request.META.get("CONTENT_LENGTH"):
                return _answer(_LENGTH_REQUIRED)
            try:
                request.POST  # noqa: B018 - reads the form
            except UnreadablePostError:
                return _answer(INCOMPLETE)
        return get_response(request)

    return middleware


def _answer(refusal: Refusal) -> HttpResponse:
    return HttpResponse(
        refusal.message,
        status=refusal.status,
        content_type="text/plain; charset=utf-8",
        headers={**refusal.headers, "Cache-Control": "no-store"},
    )
