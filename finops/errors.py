"""Error pages whose status the framework would say less exactly."""

from __future__ import annotations

import sys
from typing import Final

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader

from finops.lib.unavailable import RETRY_SECONDS, is_unavailable

TOO_MANY_REQUESTS: Final = "That was too often within a minute. Try again in {seconds} s."


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400, but 413 where the body is larger than this server takes."""
    status = 413 if isinstance(exception, RequestDataTooBig) else 400
    return render(request, f"{status}.html", status=status)


def too_many_requests(request: HttpRequest, seconds: int = 60) -> HttpResponse:
    """429. allauth asks for it without the seconds: its windows are of a minute."""
    text = TOO_MANY_REQUESTS.format(seconds=seconds)
    page = render(request, "429.html", {"text": text}, status=429)
    page["Retry-After"] = str(seconds)
    return page


def _unavailable() -> HttpResponse:
    page = loader.render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_SECONDS)})


def server_error(request: HttpRequest) -> HttpResponse:
    """500, but 503 where the database or Redis is away: Django calls this while it handles the exception."""
    if is_unavailable(sys.exc_info()[1]):
        return _unavailable()
    return HttpResponse(loader.render_to_string("500.html"), status=500)
