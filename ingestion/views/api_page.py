"""The reference of the push endpoint: the page in the console, and the OpenAPI document for everybody."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.limits import limit_of
from accounts.page_access import AccountRequest, account_page
from ingestion.events import MAX_EVENTS
from ingestion.openapi import document
from ingestion.reference import client_snippets, other_formats, reference, snippets_for
from ingestion.services.event_ids import DAYS
from ingestion.views.sources import push_url


@require_safe
def openapi(request: HttpRequest) -> JsonResponse:
    answer = JsonResponse(document())
    answer["Access-Control-Allow-Origin"] = "*"  # public, and OpenAPI viewers run in browsers
    return answer


KEY = "fuse_your-key"


@account_page()
@require_safe
def api(request: AccountRequest) -> HttpResponse:
    context = {
        "reference": reference(),
        "push_url": push_url(),
        "snippets": snippets_for(push_url(), KEY),
        "clients": client_snippets(),
        "other_formats": other_formats(),
        "max_events": MAX_EVENTS,
        "max_bytes": settings.USAGE_MAX_BODY_BYTES,
        "rate_limit": limit_of(request.account, "USAGE_RATE_LIMIT_PER_MINUTE"),
        "event_id_days": DAYS,
    }
    return render(request, "ingestion/api.html", context)
