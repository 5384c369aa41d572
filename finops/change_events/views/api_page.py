"""The reference of `/api/events`: the page in the console, and the OpenAPI document for everybody."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.limits import limit_of
from accounts.page_access import AccountRequest, account_page
from finops.change_events.openapi import document
from finops.change_events.reference import reference
from finops.change_events.snippets import event_snippets
from finops.change_events.views.push import PATH
from ingestion.events import MAX_EVENTS

KEY: Final = "fevt_your-key"


@require_safe
def openapi(request: HttpRequest) -> JsonResponse:
    answer = JsonResponse(document())
    answer["Access-Control-Allow-Origin"] = "*"  # public, and viewers of OpenAPI documents run in browsers
    return answer


@account_page()
@require_safe
def api(request: AccountRequest) -> HttpResponse:
    url = f"{settings.PUBLIC_URL}{PATH}"
    context = {
        "reference": reference(),
        "openapi_url": reverse("event_openapi"),
        "push_url": url,
        "snippets": event_snippets(url, KEY),
        "max_events": MAX_EVENTS,
        "max_bytes": settings.USAGE_MAX_BODY_BYTES,
        "rate_limit": limit_of(request.account, "EVENT_RATE_LIMIT_PER_MINUTE"),
    }
    return render(request, "change_events/api.html", context)
