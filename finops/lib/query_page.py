"""Pages of one question: a form whose state is the URL, and its answer, which htmx asks for alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_htmx.middleware import HtmxDetails


class HtmxRequest(HttpRequest):
    """A request that knows whether htmx made it."""

    htmx: HtmxDetails


def render_query_page(
    request: HtmxRequest,
    *,
    page: str,
    result: str,
    context: Mapping[str, Any],
    choices: Callable[[], Mapping[str, Any]],
    status: int = 200,
) -> HttpResponse:
    """The template `page` with the form's choices; for htmx the template `result` alone, and the question for the
    address bar: `params` of the context, or what was asked when the status says that it could not be read."""
    if not request.htmx or request.htmx.history_restore_request:
        return render(request, page, {**context, **choices()}, status=status)
    response = render(request, result, context, status=status)
    query_string = urlencode(context["params"], doseq=True) if status == 200 else request.GET.urlencode()
    response["HX-Push-Url"] = f"{request.path}?{query_string}"
    return response
