"""Serves the push endpoints before the middleware of pages: no session is read, and no HTML page is returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from ingestion.views import cloudevents, otlp, push

ENDPOINTS: Final = {
    push.PATH: push.push,
    cloudevents.PATH: cloudevents.push,
    cloudevents.OPENMETER_PATH: cloudevents.push_as_openmeter,
    otlp.PATH: otlp.push,
}


def push_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        return ENDPOINTS.get(request.path_info, get_response)(request)

    return middleware
