"""Error pages whose status the framework would say less exactly."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400, but 413 where the body is larger than this server takes."""
    status = 413 if isinstance(exception, RequestDataTooBig) else 400
    return render(request, f"{status}.html", status=status)
