"""Rate limits of sign-in, sign-up and password reset by address, and of uploads, exports and cost searches by person: 429 with
Retry-After above them.

Fixed windows (`finops.lib.fixed_window`). The OAuth endpoints limit in accounts/oauth/limits.py, where their errors have
OAuth's format, `accounts.security.guesses` limits wrong passwords and codes, and allauth pages of a person who is signed
in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.security.known_devices import person_of_cookie
from finops.lib.client_address import client_network
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.listing import wants_csv
from finops.views import TOO_MANY_REQUESTS, too_many_requests

SIGN_UP_PAGES: Final = {
    "account_login": 30,
    "mfa_login_webauthn": 60,
    "account_signup": 20,
    "account_reset_password": 20,
    "account_reset_password_from_key": 20,
    "sso_start": 60,
    "sso_saml_acs": 60,
}
"""Forms, with how often an address may send them in a minute. A browser that somebody signed in on before is counted apart
from the others of its address, by that person."""

UPLOAD_PAGES: Final = {"column_mapping_sample", "cost_upload", "savings_import", "usage_upload_new"}
UPLOADS_PER_MINUTE: Final = 60
EXPORT_PAGES: Final = {"cost_tag_yaml"}
EXPORTS_PER_MINUTE: Final = 120
COST_SEARCHES_PER_MINUTE: Final = 60
"""Each search sends up to three lake queries; a person who types without a pause sends about 30 searches."""


class RateLimits:
    """Middleware. It runs before Django's CSRF check, which reads the whole body of an upload."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        seconds = _seconds_to_wait(request)
        if not seconds:
            return None
        if request.headers.get("Accept", "").startswith("application/json"):
            errors = {"__all__": [TOO_MANY_REQUESTS.format(seconds=seconds)]}
            return JsonResponse({"errors": errors}, status=429, headers={"Retry-After": str(seconds)})
        return too_many_requests(request, seconds)


def _seconds_to_wait(request: HttpRequest) -> int:
    page = request.resolver_match.view_name if request.resolver_match else ""
    if request.method == "POST" and page in SIGN_UP_PAGES:
        person = person_of_cookie(request)
        key = client_network(request.META) if person is None else f"user {person}"
        return seconds_to_wait(page, key, limit=SIGN_UP_PAGES[page])
    if request.method == "POST" and page in UPLOAD_PAGES:
        return seconds_to_wait("uploads", _person(request), limit=UPLOADS_PER_MINUTE)
    if request.method == "GET" and (wants_csv(request) or page in EXPORT_PAGES):
        return seconds_to_wait("exports", _person(request), limit=EXPORTS_PER_MINUTE)
    if page == "search" and "costs" in request.GET:
        return seconds_to_wait("cost searches", _person(request), limit=COST_SEARCHES_PER_MINUTE)
    return 0


def _person(request: HttpRequest) -> str:
    user = request.user
    return f"user {user.pk}" if user.is_authenticated else client_network(request.META)
