"""Around every request: its id, and its outcome and time as metrics."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

from django.http import HttpRequest, HttpResponse

from finops.lib.telemetry import context, metrics
from finops.lib.telemetry.context import Work

HEADER: Final = "X-Request-Id"
PAGES: Final = "pages"
DOORS: Final = (
    ("/api/usage/", "usage-push"),
    ("/api/costs/", "cost-push"),
    ("/api/mcp", "mcp"),
    ("/api/v1/", "api"),
    ("/static/", "static"),
    ("/auth/", "sign-in"),
    ("/oauth/", "sign-in"),
    ("/.well-known/", "sign-in"),
    ("/healthz", "probes"),
    ("/readyz", "probes"),
    ("/metrics", "probes"),
)
"""Beginnings of paths, and what their requests are counted as; all others are pages."""


def trace_request(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """The request's id, accepted or made, is in the answer's header and in all that is logged meanwhile."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request_id = context.accepted_request_id(request.META.get("HTTP_X_REQUEST_ID"))
        began = perf_counter()
        with context.work(Work(request_id, request.META)):
            response = get_response(request)
        response[HEADER] = request_id
        _count(request, response.status_code, perf_counter() - began)
        return response

    return middleware


def _count(request: HttpRequest, status: int, seconds: float) -> None:
    path = request.path_info
    door = next((name for prefix, name in DOORS if path.startswith(prefix)), PAGES)
    metrics.REQUESTS.inc(door, str(status))
    metrics.REQUEST_SECONDS.observe(seconds, door)
    if door == PAGES:
        match = request.resolver_match
        metrics.PAGE_SECONDS.observe(seconds, (match.view_name if match else "") or "unknown")
