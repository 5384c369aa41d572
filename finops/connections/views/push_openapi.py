"""The OpenAPI document of `/api/costs`, for everybody."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from finops.connections.openapi import document


@require_safe
def openapi(request: HttpRequest) -> JsonResponse:
    answer = JsonResponse(document())
    answer["Access-Control-Allow-Origin"] = "*"  # it is public, and viewers of such documents run in browsers
    return answer
