"""/oauth/token and /oauth/revoke. Every response is JSON, errors too."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from http import HTTPStatus

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.oauth2_backends import OAuthLibCore, get_oauthlib_core

from accounts.oauth import limits
from accounts.oauth.cors import open_to_browsers
from accounts.oauth.error_text import DESCRIPTIONS
from finops.web.admission import ARRIVING

MAX_BODY = 65_536
FORM = "application/x-www-form-urlencoded"

log = logging.getLogger(__name__)

Answer = Callable[[OAuthLibCore, HttpRequest], tuple[object, dict[str, str], str, int]]


def problem(status: int, error: str, description: str, headers: dict[str, str] | None = None) -> HttpResponse:
    """Return the JSON error response of RFC 6749, 5.2."""
    body = {"error": error, "error_description": description}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store", **(headers or {})})


def too_many(seconds: int) -> HttpResponse:
    return problem(
        429, "temporarily_unavailable", f"Too many requests; wait {seconds} s.", {"Retry-After": str(seconds)}
    )


@csrf_exempt
@open_to_browsers("POST")
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code, refresh token, client secret or assertion for tokens."""
    return _respond(request, lambda core, django_request: core.create_token_response(django_request))


@csrf_exempt
@open_to_browsers("POST")
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke a token and end its connection (RFC 7009). An unknown token counts as revoked."""
    return _respond(request, lambda core, django_request: core.create_revocation_response(django_request))


def _respond(request: HttpRequest, answer: Answer) -> HttpResponse:
    if wait := limits.seconds_to_wait_at_token(request):
        return too_many(wait)
    if error_response := _form_problem(request):
        return error_response
    with transaction.atomic():
        _url, headers, body, status = answer(get_oauthlib_core(), request)
    if status >= HTTPStatus.BAD_REQUEST:
        body = _with_description(body)
    response = HttpResponse(body or "", status=status, content_type="application/json")
    for name, value in headers.items():
        response[name] = value
    response["Cache-Control"], response["Pragma"] = "no-store", "no-cache"
    return response


def _with_description(body: str) -> str:
    """Return the error response with a description; oauthlib leaves some out."""
    error = json.loads(body)
    return json.dumps(
        {**error, "error_description": error.get("error_description") or DESCRIPTIONS[error["error"]]}
    )


def _form_problem(request: HttpRequest) -> HttpResponse | None:
    if request.META.get("QUERY_STRING"):
        return problem(400, "invalid_request", "Send parameters in the body, not in the URL.")
    if request.content_type != FORM:
        return problem(400, "invalid_request", f"Send the body as {FORM}.")
    length = request.META.get("CONTENT_LENGTH") or ("" if ARRIVING in request.META else "0")
    if not length.isdecimal() or int(length[:20]) > MAX_BODY:
        return problem(413, "invalid_request", f"The body is larger than {MAX_BODY} bytes.")
    try:
        repeated = {key for key, values in request.POST.lists() if len(values) > 1} - {"resource"}
    except (BadRequest, RequestDataTooBig, SuspiciousOperation, UnreadablePostError):
        return problem(400, "invalid_request", "The body is not a valid form.")
    if repeated:
        return problem(400, "invalid_request", f"{sorted(repeated)[0][:40]!r} is given twice.")
    return None
