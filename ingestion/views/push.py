"""POST /api/usage/events, the HTTP of it: credential, body, status. Every answer is JSON, whatever happens.

The credential comes first, so that every request made with a key counts as a use of it, refused ones too.
"""

from __future__ import annotations

import logging
import re
import secrets
from http import HTTPStatus
from typing import Any

import msgspec
from django.contrib.auth.models import AnonymousUser
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from psycopg_pool import PoolTimeout
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from ingestion.body import Refused, read_body
from ingestion.keys import PushCredential, authenticate_usage_key
from ingestion.parsing import Malformed, Rejection, check_batch
from ingestion.services import KeyEnded, accept_events

PATH = "/api/usage/events"
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,2048}=*)")

log = logging.getLogger(__name__)


class Result(msgspec.Struct):
    """The ingestion result: every event is in one of the two counts, every rejected one among the errors."""

    accepted: int
    rejected: int
    errors: list[Rejection]


class UsageKeyAuthentication(BaseAuthentication):
    """A living usage key as bearer token, and nothing else: no MCP key, no session."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, PushCredential]:
        header: str = request.META.get("HTTP_AUTHORIZATION", "").strip()
        if not header:
            raise _unauthorized("Send the key of a usage source: Authorization: Bearer <usage key>")
        bearer = _BEARER.fullmatch(header)
        credential = authenticate_usage_key(bearer[1]) if bearer else None
        if credential is None:
            raise _unauthorized(
                "This is not a living usage key: it is unknown, revoked or replaced by another."
            )
        return AnonymousUser(), credential


def _unauthorized(message: str) -> Refused:
    return Refused(HTTPStatus.UNAUTHORIZED, "unauthorized", message, {"WWW-Authenticate": "Bearer"})


class AnyAccept(BaseContentNegotiation):
    """There is JSON; what the client would like instead is not looked at."""

    def select_renderer(
        self, request: Request, renderers: list[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class UsageEvents(APIView):
    http_method_names = ["post"]
    authentication_classes = [UsageKeyAuthentication]
    permission_classes: list[Any] = []
    throttle_classes: list[Any] = []
    renderer_classes = [JSONRenderer]
    content_negotiation_class = AnyAccept

    def post(self, request: Request) -> HttpResponse:
        # The body is read here and not by DRF's parsers: they choose by content type, and take a chunked one for none.
        batch = check_batch(read_body(request._request))
        accept_events(credential=request.auth, batch=batch)
        return _json(HTTPStatus.OK, Result(len(batch.events), len(batch.rejected), batch.rejected))

    def handle_exception(self, exc: Exception) -> HttpResponse:
        refused = _refusal(exc)
        return _json(refused.status, _problem(refused), refused.headers)


def _refusal(error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, Malformed):
        return Refused(HTTPStatus.BAD_REQUEST, error.code, error.message)
    if isinstance(error, KeyEnded):
        return _unauthorized(
            "The key was revoked or replaced while this request was under way; nothing is stored."
        )
    if isinstance(error, MethodNotAllowed):
        return Refused(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Only POST.", {"Allow": "POST"})
    return _failure(error)


def _failure(error: Exception) -> Refused:
    incident = secrets.token_hex(4)
    log.error("incident %s at %s", incident, PATH, exc_info=error)
    if isinstance(error, OperationalError | PoolTimeout):
        message = f"Storage is not available; nothing is stored, send it again (incident {incident})."
        return Refused(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, {"Retry-After": "5"})
    message = f"Internal error, nothing is stored (incident {incident})."
    return Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message)


def _problem(refused: Refused) -> dict[str, dict[str, str]]:
    return {"error": {"code": refused.code, "message": refused.message}}


def _json(status: HTTPStatus, body: Any, headers: dict[str, str] | None = None) -> HttpResponse:
    content = msgspec.json.encode(body)
    always = {
        "Cache-Control": "no-store",
        "Content-Length": str(len(content)),
        "X-Content-Type-Options": "nosniff",
    }
    headers = {**always, **(headers or {})}
    return HttpResponse(content, status=status, content_type="application/json", headers=headers)


def push(request: HttpRequest) -> HttpResponse:
    """The view, with a type."""
    response: HttpResponse = _view(request)
    return response


_view = UsageEvents.as_view()
push.csrf_exempt = True  # type: ignore[attr-defined]
