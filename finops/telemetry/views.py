"""GET /metrics, for Prometheus."""

from __future__ import annotations

import logging

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from finops.lib.telemetry import metrics
from finops.telemetry.access import CHALLENGE, UNAUTHORIZED, is_authorized
from finops.telemetry.collector import StateCollector

logger = logging.getLogger(__name__)


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Return the metrics of all programs of this machine and the state of the database, in Prometheus's text format. 404
    while METRICS_TOKEN is not set, 401 without it as bearer token."""
    if not settings.METRICS_TOKEN or metrics.directory() is None:
        raise Http404("metrics are off")
    if not is_authorized(request.headers.get("Authorization", "")):
        return HttpResponse(
            UNAUTHORIZED, status=401, content_type="text/plain; charset=utf-8", headers=CHALLENGE
        )
    content_type, text = metrics.exposition(StateCollector())
    return HttpResponse(text, content_type=content_type)
