"""Middleware of every request: its id, and its outcome and time as metrics."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from finops.lib.telemetry import context, metrics, spans
from finops.lib.telemetry.context import Work

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
HEADER: Final = "X-Request-Id"
PAGES: Final = "pages"
ENDPOINTS: Final = (
    ("/api/usage/", "usage-push"),
    ("/api/costs/", "cost-push"),
    ("/api/events", "event-push"),
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
"""Prefixes of paths, and the label that their requests are counted by; all others are pages."""


def trace_request(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Put the request's id, accepted or created, into the response's header and into all logs of the request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request_id = context.accepted_request_id(request.META.get("HTTP_X_REQUEST_ID"))
        start = perf_counter()
        token = context.begin(Work(request_id, request.META))
        try:
            response = _in_span(request, get_response) if spans.are_on() else get_response(request)
        finally:
            context.end(token)
        response[HEADER] = request_id
        if metrics.are_on():
            _count(request, response.status_code, perf_counter() - start)
        return response

    return middleware


def _in_span(request: HttpRequest, get_response: Callable[[HttpRequest], HttpResponse]) -> HttpResponse:
    parent = request.META.get("HTTP_TRACEPARENT")
    with spans.span("request", "SERVER", parent=parent) as span:
        response = get_response(request)
        _describe(span, request, response.status_code)
    return response


def _describe(span: Any, request: HttpRequest, status: int) -> None:
    """Name the span by kind and name of the URL: a path may hold a token."""
    name = _view(request)
    method = request.method if request.method in METHODS else "_OTHER"
    span.update_name(f"{method} {name}")
    span.set_attributes(
        {
            "http.request.method": method,
            "http.route": name,
            "http.response.status_code": status,
            "finops.request_id": context.request_id(),
        }
    )


def _endpoint(request: HttpRequest) -> str:
    path = request.path_info
    for prefix, name in ENDPOINTS:
        if path.startswith(prefix):
            return name
    return PAGES


def _view(request: HttpRequest) -> str:
    """The name of a page's URL, the kind for other requests."""
    endpoint, match = _endpoint(request), request.resolver_match
    return ((match.view_name if match else "") or "unknown") if endpoint == PAGES else endpoint


def _count(request: HttpRequest, status: int, seconds: float) -> None:
    endpoint = _endpoint(request)
    metrics.REQUESTS.inc(endpoint, str(status))
    metrics.REQUEST_SECONDS.observe(seconds, endpoint)
    if endpoint == PAGES:
        metrics.PAGE_SECONDS.observe(seconds, _view(request))
