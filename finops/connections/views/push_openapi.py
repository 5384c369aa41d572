"""The reference of `/api/costs`: the page in the console, and the OpenAPI document for everybody."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.limits import limit_of
from accounts.page_access import AccountRequest, account_page
from finops.connections.openapi import document
from finops.connections.push_reference import push_reference
from finops.connections.push_snippets import push_snippets
from finops.connections.services.pushes import MAX_OPEN, OPEN_TIME
from finops.connections.views.cost_keys import push_url

KEY: Final = "fcst_your-key"


@require_safe
def openapi(request: HttpRequest) -> JsonResponse:
    answer = JsonResponse(document())
    answer["Access-Control-Allow-Origin"] = "*"  # public, and viewers of OpenAPI documents run in browsers
    return answer


@account_page()
@require_safe
def api(request: AccountRequest) -> HttpResponse:
    context = {
        "reference": push_reference(KEY),
        "openapi_url": reverse("cost_openapi"),
        "push_url": push_url(),
        "snippets": push_snippets(push_url(), KEY),
        "max_part_bytes": settings.COST_PUSH_MAX_PART_BYTES,
        "max_parts": settings.COST_PUSH_MAX_PARTS,
        "max_open": MAX_OPEN,
        "open_hours": int(OPEN_TIME.total_seconds() // 3600),
        "rate_limit": limit_of(request.account, "COST_PUSH_RATE_LIMIT_PER_MINUTE"),
    }
    return render(request, "connections/api.html", context)
