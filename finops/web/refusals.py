"""The responses to requests of pages that are refused before they reach their view, or that break off in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.core.exceptions import BadRequest
from django.db import DataError
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


class RefuseNullCharacters:
    """400 for a page whose view passes a null character of the URL or the form on to PostgreSQL, which has no such text."""

    def __init__(self, get_response: Middleware) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        """Raises BadRequest."""
        sent = f"{request.path}?{request.GET.urlencode()}&{request.POST.urlencode()}"
        if isinstance(error, DataError) and _NULL_CHARACTER.search(sent):
            raise BadRequest("A null character.") from error


_NULL_CHARACTER: Final = re.compile(r"\0|%00|%5Cu0000")
"""In a decoded path, an encoded query or form, and JSON in it."""


def _answer(refusal: Refusal) -> HttpResponse:
    return HttpResponse(
        refusal.message,
        status=refusal.status,
        content_type="text/plain; charset=utf-8",
        headers={**refusal.headers, "Cache-Control": "no-store"},
    )
