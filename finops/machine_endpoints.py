"""All addresses that programs call, and the middleware that serves them before that of pages: no session is read, no CSRF
is checked, and no response is a redirect or an HTML page.

An address may end in a slash. One that does not exist gets 404 in its endpoint's form, with the nearest that does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path, resolve

from finops import views
from finops.machine_errors import error_response, is_of_mcp, wrong_address
from finops.web.admission import REFUSAL
from mcpserver.views import is_opened_by_person

PREFIXES: Final = ("/api/", "/oauth/", "/.well-known/", "/scim/")
OF_PEOPLE: Final = frozenset({"oauth_authorize"})
"""Names of the URLs that are pages."""
_WITHOUT_REFUSALS: Final = ("/oauth/", "/.well-known/")
"""Prefixes of endpoints that leave the response to a refused request to this middleware."""

Handler = Callable[[HttpRequest], HttpResponse]


urlpatterns = [
    path("", include("mcpserver.urls")),
    path("", include("mcpserver.rest.urls")),
    path("", include("accounts.oauth.urls")),
    path("", include("ingestion.api_urls")),
    path("", include("finops.connections.api_urls")),
    path("", include("finops.change_events.api_urls")),
    path("", include("accounts.sso.scim.urls")),
    path(".well-known/security.txt", views.security_txt, name="security_txt"),
    re_path(r"^(?:api|oauth|\.well-known|scim)(?:/|$)", wrong_address, name="wrong_address"),
]

_match = lru_cache(1024)(lambda address: resolve(address, __name__))


def serve_programs(get_response: Handler) -> Handler:
    def middleware(request: HttpRequest) -> HttpResponse:
        address = request.path_info.rstrip("/")
        if not f"{address}/".startswith(PREFIXES):
            return wrong_address(request) if is_of_mcp(request) else get_response(request)
        request.path_info = address
        match = _match(address)
        if match.url_name in OF_PEOPLE or is_opened_by_person(request):
            return get_response(request)
        if (refusal := request.META.get(REFUSAL)) is not None and address.startswith(_WITHOUT_REFUSALS):
            return error_response(request, refusal.status, refusal.message, refusal.headers)
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and "json" not in response.get(
            "Content-Type", ""
        ):
            allowed = response["Allow"]
            return error_response(
                request, HTTPStatus.METHOD_NOT_ALLOWED, f"Use {allowed}.", {"Allow": allowed}
            )
        return response

    return middleware
